#ifndef TESSERA_TESTS_SPARSE_RANDOM_KJT_H_
#define TESSERA_TESTS_SPARSE_RANDOM_KJT_H_
// Random jagged input with a seed, and a plain picture of a KeyedJaggedTensor to compare with.
#include <random>
#include <string>
#include <vector>

#include "sparse/keyed_jagged_tensor.h"
#include "sparse/ops/row_runs.h"

namespace tessera::testing {

struct RandomKjtOptions {
  int64_t keys = 4, batch = 5, longest = 4;
  bool variable = false, weighted = true, by_offsets = false;
  DType index = DType::kI64;  // of values and lengths
};

inline std::vector<int64_t> RandomLengths(std::mt19937& random, int64_t n, int64_t longest) {
  std::vector<int64_t> lengths(static_cast<size_t>(n));
  for (int64_t& l : lengths)
    l = static_cast<int64_t>(random() % static_cast<uint64_t>(longest + 1));
  return lengths;
}

inline std::vector<std::string> KeyNames(int64_t n) {
  std::vector<std::string> keys;
  for (int64_t f = 0; f < n; ++f) keys.push_back("f" + std::to_string(f));
  return keys;
}

inline KeyedJaggedTensor RandomKjt(Context& ctx, std::mt19937& random,
                                   const RandomKjtOptions& options = {},
                                   bool weights_want_grad = false) {
  KeyedJaggedTensorArgs args;
  args.keys = KeyNames(options.keys);
  int64_t bags = options.keys * options.batch;
  if (options.variable) {
    bags = 0;
    for (int64_t f = 0; f < options.keys; ++f) {
      args.stride_per_key_per_rank.push_back(RandomLengths(random, 2, options.batch));
      for (int64_t b : args.stride_per_key_per_rank.back()) bags += b;
    }
  }
  const std::vector<int64_t> lengths = RandomLengths(random, bags, options.longest),
                             offsets = HostOffsets(lengths);
  std::vector<int64_t> values(static_cast<size_t>(offsets.back()));
  std::vector<float> weights;
  for (int64_t& v : values) {
    v = static_cast<int64_t>(random() % 1000);
    weights.push_back(static_cast<float>(random() % 64) / 8);
  }
  args.values = Tensor::From(ctx, values).To(ctx, options.index);
  if (options.by_offsets)
    args.offsets = Tensor::From(ctx, offsets).To(ctx, options.index);
  else
    args.lengths = Tensor::From(ctx, lengths).To(ctx, options.index);
  if (options.weighted) args.weights = Variable(Tensor::From(ctx, weights), weights_want_grad);
  return KeyedJaggedTensor(std::move(args));
}

// The content of a KJT: for each key, its bags of (id, weight).
struct PlainKey {
  std::string key;
  std::vector<std::vector<std::pair<int64_t, float>>> bags;
  friend bool operator==(const PlainKey&, const PlainKey&) = default;
};
using PlainKjt = std::vector<PlainKey>;

inline PlainKjt Plain(Context& ctx, const KeyedJaggedTensor& kjt) {
  const std::vector<int64_t> ids = ToInt64(kjt.values()), lengths = ToInt64(kjt.lengths(ctx));
  std::vector<float> weights(ids.size(), 1);
  if (kjt.is_weighted()) weights = kjt.weights().value().ToVector<float>();
  PlainKjt plain;
  size_t bag = 0, at = 0;
  for (size_t f = 0; f < kjt.keys().size(); ++f) {
    plain.push_back({kjt.keys()[f], {}});
    for (int64_t b = 0; b < kjt.stride_per_key()[f]; ++b, ++bag) {
      plain.back().bags.emplace_back();
      for (int64_t i = 0; i < lengths[bag]; ++i, ++at)
        plain.back().bags.back().emplace_back(ids[at], weights[at]);
    }
  }
  return plain;
}

// Every combination of the axes, small.
inline std::vector<RandomKjtOptions> AllKjtOptions() {
  std::vector<RandomKjtOptions> all;
  for (int64_t keys : {1, 3, 7})
    for (int64_t batch : {0, 1, 6})
      for (bool variable : {false, true})
        for (bool weighted : {false, true})
          for (bool by_offsets : {false, true})
            for (DType index : {DType::kI32, DType::kI64})
              all.push_back({keys, batch, 4, variable, weighted, by_offsets, index});
  return all;
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_SPARSE_RANDOM_KJT_H_
