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
  std::span<char> output() { return output_; }
  // Throws Error where something was written beside the outputs.
  void CheckGuards() const;

  // With a gradient in the output's place.
  LookupArgs Gradient();
  std::span<char> gradient() { return gradient_; }
  // REQUIRES: a rule with at most one state a row and none an element.
  std::vector<UpdateTable> Tables(const AnyRule& rule);

  int64_t num_rows(size_t table) const;
  const std::vector<char>& rows(size_t table) const { return rows_[table]; }
  const std::vector<char>& row_states(size_t table) const { return row_states_[table]; }

 private:
  LookupArgs Args(std::vector<char>& target, DType type);
  int64_t outputs() const;

  Shape shape_;
  std::vector<std::vector<char>> rows_, row_states_;
  std::vector<int64_t> ids_, offsets_{0};
  std::vector<float> weights_;
  std::vector<char> output_, gradient_;
  std::vector<LookupFeature> features_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_HARD_BATCH_H_
