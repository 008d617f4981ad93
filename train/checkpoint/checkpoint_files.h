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

std::string BasePath(const std::string& folder, int64_t number);
std::string DeltaPath(const std::string& folder, int64_t number);

// Whether it is a folder with a base or a delta in it.
bool IsCheckpointFolder(const std::string& path);
// All chains, the newest last. Throws Error for a gap in the newest one, naming the file that is
// missing.
std::vector<ChainFiles> ListChains(const std::string& folder);
// The newest chain. Throws Error where there is none.
ChainFiles NewestChain(const std::string& folder);

// The number after all that are there; 1 in an empty folder.
int64_t NextNumber(const std::string& folder);
// What writers have left unfinished.
void RemoveUnfinished(const std::string& folder);
// All but the newest chain and `keep` before it, last files first: what is left by a crash is
// whole. REQUIRES: keep ≥ 0.
void RemoveOldChains(const std::string& folder, int64_t keep);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_CHECKPOINT_FILES_H_
