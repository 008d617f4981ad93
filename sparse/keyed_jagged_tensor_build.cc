#include "sparse/keyed_jagged_tensor_build.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "sparse/ops/offsets_check.h"
#include "sparse/ops/segments.h"

namespace tessera::internal {
namespace {

constexpr char kName[] = "KeyedJaggedTensor";

void CheckKeys(const KeyedJaggedTensorArgs& args, int64_t bags) {
  if (args.keys.empty()) TESSERA_CHECK_EQ(bags, 0, "{}: lengths without keys", kName);
  if (!args.unique_keys) return;
  std::unordered_set<std::string_view> seen;
  for (const std::string& key : args.keys)
    TESSERA_CHECK(seen.insert(key).second, "{}: key \"{}\" comes twice", kName, key);
}

void CheckValues(const KeyedJaggedTensorArgs& args) {
  TESSERA_CHECK(args.values.defined(), "{}: no values", kName);
  TESSERA_CHECK(args.values.rank() == 1 && args.values.is_contiguous(),
                "{}: values {}; expected one dimension, contiguous", kName, args.values.shape());
  if (!args.weights.defined()) return;
  const Tensor& weights = args.weights.value();
  TESSERA_CHECK(weights.shape() == args.values.shape() && weights.is_contiguous(),
                "{}: weights {} for values {}; expected one each, contiguous", kName,
                weights.shape(), args.values.shape());
}

// Sets the numbers of bags of keys that each have their own.
void SetVariableStrides(const KeyedJaggedTensorArgs& args, int64_t bags, KjtState* state) {
  const StridePerKeyPerRank& strides = args.stride_per_key_per_rank;
  TESSERA_CHECK_EQ(strides.size(), args.keys.size(),
                   "{}: rows of stride_per_key_per_rank, one a key", kName);
  for (size_t f = 0; f < strides.size(); ++f) {
    TESSERA_CHECK_EQ(strides[f].size(), strides[0].size(),
                     "{}: key \"{}\": ranks in stride_per_key_per_rank", kName, args.keys[f]);
    for (int64_t b : strides[f])
      TESSERA_CHECK_GE(b, 0, "{}: key \"{}\": stride", kName, args.keys[f]);
    state->stride_per_key.push_back(
        std::accumulate(strides[f].begin(), strides[f].end(), int64_t{0}));
  }
  const int64_t sum =
      std::accumulate(state->stride_per_key.begin(), state->stride_per_key.end(), int64_t{0});
  TESSERA_CHECK_EQ(sum, bags, "{}: the sum of stride_per_key_per_rank and the number of lengths",
                   kName);
  state->variable_stride = true;
  state->stride_per_key_per_rank = strides;
  state->stride = *std::max_element(state->stride_per_key.begin(), state->stride_per_key.end());
  const Tensor& inverse = args.inverse_indices.indices;
  if (inverse.defined() && inverse.rank() == 2) state->stride = inverse.dim(1);
}

void SetStrides(const KeyedJaggedTensorArgs& args, int64_t bags, KjtState* state) {
  if (!args.stride_per_key_per_rank.empty()) {
    SetVariableStrides(args, bags, state);
    if (args.stride) TESSERA_CHECK_EQ(*args.stride, state->stride, "{}: stride", kName);
    return;
  }
  const auto keys = static_cast<int64_t>(args.keys.size());
  if (keys == 0) {
    state->stride = args.stride.value_or(0);
    return;
  }
  TESSERA_CHECK(bags % keys == 0, "{}: {} lengths are not divisible by {} keys (first key \"{}\")",
                kName, bags, keys, args.keys[0]);
  state->stride = bags / keys;
  if (args.stride)
    TESSERA_CHECK_EQ(*args.stride, state->stride, "{}: stride, and lengths / keys", kName);
  state->stride_per_key.assign(args.keys.size(), state->stride);
}

template <typename T>
void CheckInverseRow(const std::string& key, const T* row, int64_t columns, int64_t bags) {
  for (int64_t b = 0; b < columns; ++b)
    TESSERA_CHECK(row[b] >= 0 && row[b] < bags,
                  "{}: key \"{}\": inverse index {} of example {}, the key has {} bags", kName, key,
                  row[b], b, bags);
}

// Throws unless every key of the KJT has inverse indices; row i of these belongs to
// inverse.keys[i].
void CheckInverseIndices(const KjtState& state) {
  const InverseIndices& inverse = state.inverse_indices;
  if (!inverse.indices.defined()) return;
  const Tensor& indices = inverse.indices;
  TESSERA_CHECK(indices.rank() == 2 && indices.is_contiguous(),
                "{}: inverse indices {}: expected [F, B]", kName, indices.shape());
  TESSERA_CHECK_EQ(static_cast<int64_t>(inverse.keys.size()), indices.dim(0),
                   "{}: keys and rows of inverse indices", kName);
  for (size_t f = 0; f < state.keys.size(); ++f) {
    const auto found = std::find(inverse.keys.begin(), inverse.keys.end(), state.keys[f]);
    TESSERA_CHECK(found != inverse.keys.end(), "{}: key \"{}\" has no inverse indices", kName,
                  state.keys[f]);
    if (indices.device() != Device::Cpu()) continue;
    VisitIndexType(indices.dtype(), "inverse indices", [&]<typename T>() {
      CheckInverseRow(state.keys[f],
                      indices.data<T>() + (found - inverse.keys.begin()) * indices.dim(1),
                      indices.dim(1), state.stride_per_key[f]);
    });
  }
}

// Sets the totals of keys unless only a device knows them.
void SetKnownTotals(std::vector<int64_t> given, KjtState* state) {
  const bool on_cpu = state->values.device() == Device::Cpu();
  if (!given.empty()) {
    TESSERA_CHECK_EQ(given.size(), state->keys.size(), "{}: length_per_key, one a key", kName);
    TESSERA_CHECK_EQ(std::accumulate(given.begin(), given.end(), int64_t{0}), state->values.dim(0),
                     "{}: the sum of length_per_key, and values", kName);
  }
  if (on_cpu) {
    const std::vector<int64_t> totals = CheckedTotals(CheckOf(*state));
    TESSERA_CHECK(given.empty() || totals == given, "{}: length_per_key is not that of the lengths",
                  kName);
    given = totals;
  }
  if (on_cpu || !given.empty()) SetTotals(std::move(given), state);
}

Tensor Flat(const Tensor& lengths) {
  return lengths.defined() && lengths.rank() == 2 && lengths.is_contiguous() ? lengths.Reshape({-1})
                                                                             : lengths;
}

}  // namespace

Tensor EmptyTensor(DType dtype) {
  static double nothing = 0;
  return Tensor::Borrow(&nothing, {0}, dtype);
}

std::shared_ptr<KjtState> CheckedKjtState(KeyedJaggedTensorArgs args) {
  auto state = std::make_shared<KjtState>();
  args.lengths = Flat(args.lengths);
  const int64_t bags = CheckedBags(args.lengths, args.offsets, kName);
  CheckKeys(args, bags);
  CheckValues(args);
  SetStrides(args, bags, state.get());
  CheckOneDevice(kName, args.values, args.weights, args.lengths, args.offsets,
                 args.inverse_indices.indices);
  state->lengths_offset_per_key = HostOffsets(state->stride_per_key);
  state->keys = std::move(args.keys);
  state->values = std::move(args.values);
  state->weights = std::move(args.weights);
  state->lengths = std::move(args.lengths);
  state->offsets = std::move(args.offsets);
  state->inverse_indices = std::move(args.inverse_indices);
  SetKnownTotals(std::move(args.length_per_key), state.get());
  CheckInverseIndices(*state);
  return state;
}

std::shared_ptr<KjtState> DerivedKjtState(KjtState parts) {
  auto state = std::make_shared<KjtState>(std::move(parts));
  state->lengths_offset_per_key = HostOffsets(state->stride_per_key);
  SetTotals(state->length_per_key, state.get());
  return state;
}

OffsetsCheckArgs CheckOf(const KjtState& state) {
  return {state.lengths,
          state.offsets,
          state.lengths_offset_per_key,
          state.values.dim(0),
          kName,
          [&state](int64_t f) { return "key \"" + state.keys[static_cast<size_t>(f)] + "\""; }};
}

void SetTotals(std::vector<int64_t> length_per_key, KjtState* state) {
  state->offset_per_key = HostOffsets(length_per_key);
  state->length_per_key = std::move(length_per_key);
  state->totals_known = true;
}

}  // namespace tessera::internal
