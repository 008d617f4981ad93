#ifndef TESSERA_TRAIN_CHECKPOINT_RANK_CHAIN_H_
#define TESSERA_TRAIN_CHECKPOINT_RANK_CHAIN_H_
// Incremental checkpoints that ranks saved together, as one checkpoint of ranks
// (sharding/checkpoint/checkpoint.h). Each rank has a chain (checkpoint_files.h) of its own, of
// tensors called
//
//   <table>[r0:r1,c0:c1]                       rows [r0, r1), columns [c0, c1) of a table
//   optimizer.<table>[r0:r1,c0:c1].<state>     their optimizer state
//   other names                                what no plan cuts: rank 0's, and a rank's own
//
// A save counts when 00000007.ranks.json is there:
//
//   {"tessera_rank_chains": 1, "number": 7,
//    "plan", "tables", "metadata"    as in index.json (sharding/checkpoint/checkpoint_index.h)
//    "ranks": [{"identity": of the rank's file 7 (delta_file.h),
//               "stored": {table: {"dtype", "states"}},
//               "whole": {name: {"dtype", "shape"}}}, …],
//    "crc32": of all of it before this (runtime/json/json_seal.h)}
#include <map>
#include <string>
#include <vector>

#include "runtime/tensor.h"
#include "sharding/checkpoint/checkpoint.h"
#include "train/checkpoint/chain_writer.h"

namespace tessera {

// The state that one rank saves. Shards that another rank writes (IsWritten), as copies of
// data-parallel tables, are not among them.
struct RankState {
  std::vector<ShardTensors> shards;
  // Changed rows of each shard, [k] i64, rising, on ctx's device; undefined: it is written whole.
  std::vector<Tensor> changed;
  std::vector<NamedTensor> whole;  // what no plan cuts, and this rank writes
};

// The state of the rank's own chain.
ChainState ChainStateOf(const RankState& state, const TrainingProgress& progress,
                        const std::string& config);
// Describes the file that the rank wrote, for CommitRankFiles.
std::string DescribeRankFile(const RankState& state, const std::string& identity);

// Makes save `number` count. described: what DescribeRankFile has returned on each rank. Throws
// Error when it can't; the save then does not count.
void CommitRankFiles(const std::string& folder, int64_t number, const CheckpointInfo& info,
                     const std::vector<std::string>& described);
// Removes, after a base was saved, this rank's files of chains older than the `keep` before it;
// rank 0 also removes the saves of these chains, and files of ranks that the run no longer has.
// Throws Error when it can't.
void RemoveOldRankFiles(const std::string& folder, int rank, int ranks, int64_t keep);

// The newest save. A rank's files are read, whole, and checked when a tensor of it is asked for
// first. Throws Error, naming the file, where there is none, and where a file is missing or is not
// the one that was saved.
ShardedCheckpoint OpenRankChain(const std::string& folder);

// Rewrites the newest save as a base, unless it has no deltas. Then only `keep` chains before it
// are left. Throws Error as OpenRankChain, and for a negative `keep`.
void CompactRankChain(const std::string& folder, int64_t keep = 0);

// Position of the newest save: bytes are those of all ranks, the identity is rank 0's.
ChainPosition PositionOfRanks(const std::string& folder);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_RANK_CHAIN_H_
