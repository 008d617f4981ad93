#ifndef TESSERA_PLANNER_STEP_MODEL_TIER_MOVES_H_
#define TESSERA_PLANNER_STEP_MODEL_TIER_MOVES_H_
// Rows and bytes that a step moves between a device and a table that lies elsewhere: plain
// arithmetic.
#include <algorithm>
#include <cmath>

namespace tessera {

struct TierMoves {
  double rows = 0, bytes = 0;
};

// kFusedUvm: a row for each id that is looked up, and each distinct row with its states both ways.
inline TierMoves MovesOfUvm(double ids, double distinct, double row_bytes, double state_bytes) {
  return {ids + 2 * distinct, ids * row_bytes + 2 * distinct * (row_bytes + state_bytes)};
}

// Behind a cache: the rows that it lacks come with their states, and as many others leave it.
inline TierMoves MovesOfCache(double misses, double row_bytes, double state_bytes) {
  return {misses, 2 * misses * (row_bytes + state_bytes)};
}

// Behind the cache of a disk: blocks are read, each once, and written with many rows at a time.
// Rows lie in the blocks as records (embedding/storage/row_log.h) in the order in which they were
// written.
inline TierMoves MovesOfDisk(double misses, double rows, double row_bytes, double state_bytes) {
  constexpr double kBlock = 4096, kHeader = 8;
  const double record = row_bytes + state_bytes + kHeader,
               in_block = std::max(1.0, std::floor(kBlock / record)), blocks = rows / in_block;
  return {misses, -blocks * std::expm1(-misses / blocks) * std::max(kBlock, record)};
}

}  // namespace tessera
#endif  // TESSERA_PLANNER_STEP_MODEL_TIER_MOVES_H_
