#ifndef TESSERA_BENCH_SPARSE_JAGGED_BATCH_H_
#define TESSERA_BENCH_SPARSE_JAGGED_BATCH_H_
// One jagged batch in host memory, in the shapes that the ops on it take: bags of 1 … lmax ids,
// ids below kRows, all numbers i64.
#include <string>
#include <utility>
#include <vector>

#include "sparse/keyed_jagged_tensor.h"

namespace tessera::bench {

struct JaggedBatch {
  static constexpr int64_t kRows = 100'000;

  JaggedBatch(Context& ctx, int64_t num_keys, int64_t batch, int64_t lmax);

  int64_t num_keys() const { return kjt.num_keys(); }
  int64_t num_ids() const { return kjt.values().dim(0); }

  std::vector<std::string> keys;  // "f0" …
  Tensor lengths, values;         // [F·B], [N]
  KeyedJaggedTensor kjt, weighted;
  std::vector<int64_t> order;                               // of keys, shuffled
  std::vector<KeyedJaggedTensor> halves;                    // the first keys, the others; copies
  std::vector<std::pair<std::string, JaggedTensor>> parts;  // a key each; copies
  Tensor block_sizes;                                       // [F]: a quarter of kRows
};

// Throw Error unless the result is what the op's contract says; by plain loops.
//
// Key i of `got` is key order[i] of `from`: bags, ids, weights.
void CheckKeys(Context& ctx, const KeyedJaggedTensor& from, const std::vector<int64_t>& order,
               const KeyedJaggedTensor& got);
void CheckKey(Context& ctx, const KeyedJaggedTensor& from, int64_t key, const JaggedTensor& got);
void CheckSame(Context& ctx, const Tensor& expected, const Tensor& got, const char* what);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_SPARSE_JAGGED_BATCH_H_
