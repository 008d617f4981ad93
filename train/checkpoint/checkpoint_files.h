#ifndef TESSERA_TRAIN_CHECKPOINT_CHECKPOINT_FILES_H_
#define TESSERA_TRAIN_CHECKPOINT_CHECKPOINT_FILES_H_
// The files of a folder of incremental checkpoints, by their names: each save gets the next number.
//
//   00000007.base.safetensors     a whole checkpoint (checkpoint.h)
//   00000008.delta.safetensors    what changed since 7 (delta_file.h)
//   00000009.delta.safetensors    since 8
//   00000010.base.safetensors     a chain of its own
//
// Other names, and numbers of other than these digits, are no files of a chain.
//
// A chain is a base and the deltas up to the next base. The newest base's counts; older chains are
// there only where they are kept. A file gets its name by a rename when it is whole and synced:
// *.tmp is what a writer that died has left.
//
// Ranks have a folder of such files each, with the shards that a rank holds, in one folder:
//
//   rank-0/00000007.base.safetensors, rank-1/00000007.base.safetensors, …
//   00000007.ranks.json           save 7 counts: all ranks have written theirs (rank_chain.h)
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

struct ChainFiles {
  std::string folder;
  int64_t base = 0;             // number of the base
  std::vector<int64_t> deltas;  // of its deltas, rising, without a gap

  int64_t last() const { return deltas.empty() ? base : deltas.back(); }
};

// A number as the files' names have it: with at least eight digits.
std::string FileNumber(int64_t number);

// The files of a whole checkpoint, and of a delta, by their numbers.
std::string BasePath(const std::string& folder, int64_t number);
std::string DeltaPath(const std::string& folder, int64_t number);

// In a folder of ranks: the file that says that a save counts, and the folder that one rank writes.
std::string RanksPath(const std::string& folder, int64_t number);
std::string RankFolder(const std::string& folder, int64_t rank);

// Whether it is a folder with a base or a delta in it.
bool IsCheckpointFolder(const std::string& path);
// The saves of a folder of ranks that count, rising.
std::vector<int64_t> SavesOfRanks(const std::string& folder);
// The ranks that have a folder in it, rising.
std::vector<int64_t> RanksIn(const std::string& folder);
// All chains, the newest last. Throws Error for a gap in the newest one, naming the file that is
// missing.
std::vector<ChainFiles> ListChains(const std::string& folder);
// The newest chain. Throws Error where there is none.
ChainFiles NewestChain(const std::string& folder);
// The chain that ends with file `number`, whatever comes after it. Throws Error where it is not
// there, or has a gap.
ChainFiles ChainUpTo(const std::string& folder, int64_t number);

// The number after all that are there; 1 in an empty folder.
int64_t NextNumber(const std::string& folder);
// Removes what writers have left unfinished.
void RemoveUnfinished(const std::string& folder);
// Removes the files after `number`, or before it, the last first.
void RemoveAfter(const std::string& folder, int64_t number);
void RemoveBefore(const std::string& folder, int64_t number);
// Removes all chains but the newest and the `keep` before it, last files first, so that a crash
// leaves whole chains. REQUIRES: keep ≥ 0.
void RemoveOldChains(const std::string& folder, int64_t keep);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_CHECKPOINT_FILES_H_
