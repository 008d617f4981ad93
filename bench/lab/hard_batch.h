#ifndef TESSERA_BENCH_LAB_HARD_BATCH_H_
#define TESSERA_BENCH_LAB_HARD_BATCH_H_
// Tables and a batch that show what a kernel gets wrong: tables of 1, 7 and 1,000 rows, bags that
// are empty at both ends and in between, of one id, and of thousands; ids of −1, far past the table
// and of its first and last row; numbers of which no two are alike, so that another order of a sum
// has other bits; and room between outputs that nobody may write to.
#include <cstdint>
#include <span>
#include <vector>

#include "bench/embedding/workload.h"
#include "bench/lab/guarded_bytes.h"
#include "embedding/lookup/lookup.h"
#include "embedding/update/update.h"

namespace tessera::bench {

class HardBatch {
 public:
  // Takes the dim, types, pooling and weights of the shape. The same seed makes the same batch.
  HardBatch(const Shape& shape, uint32_t seed);

  // Outputs are filled with a pattern.
  LookupArgs Lookup();
  // All outputs, and the room between them.
  std::span<char> output() { return {output_.data(), static_cast<size_t>(output_.size())}; }
  // Throws Error where something was written beside the outputs, the tables or their states.
  void CheckGuards() const;

  // With a gradient in the output's place.
  LookupArgs Gradient();
  std::span<char> gradient() { return {gradient_.data(), static_cast<size_t>(gradient_.size())}; }
  // REQUIRES: a rule with at most one state a row and none an element.
  std::vector<UpdateTable> Tables(const AnyRule& rule);

  // Throws Error, naming table and row, where a row or a state has other bits than `expected`'s.
  void CompareTables(const HardBatch& expected) const;

 private:
  LookupArgs Args(GuardedBytes& target, DType type);
  int64_t outputs() const;

  Shape shape_;
  std::vector<GuardedBytes> rows_, row_states_;
  std::vector<int64_t> ids_, offsets_{0};
  std::vector<float> weights_;
  GuardedBytes output_, gradient_;
  std::vector<LookupFeature> features_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_HARD_BATCH_H_
