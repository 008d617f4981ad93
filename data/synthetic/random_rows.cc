#include "data/synthetic/random_rows.h"

#include <numeric>

#include "data/synthetic/normal.h"
#include "runtime/base/check.h"
#include "runtime/numbers/random.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

// Sequences of random numbers: labels, dense numbers, then one a feature.
constexpr uint64_t kLabels = 0, kDense = 1, kFeatures = 2;

float NormalOf(const PhiloxBits& bits) {
  return Normal(UniformDouble(bits.v[0], bits.v[1]), UniformDouble(bits.v[2], bits.v[3]));
}

}  // namespace

RandomRows::RandomRows(RandomRowsOptions options) : options_(std::move(options)) {
  auto& ids = options_.ids_per_feature;
  if (ids.size() == 1) ids.assign(options_.features.size(), ids[0]);
  TESSERA_CHECK_EQ(ids.size(), options_.features.size(),
                   "random rows: ids a feature, and features");
  for (size_t f = 0; f < ids.size(); ++f) {
    TESSERA_CHECK_GT(ids[f], 0, "random rows: ids of feature '{}'", options_.features[f].name);
    TESSERA_CHECK_GT(options_.features[f].rows, 0, "random rows: hash size of feature '{}'",
                     options_.features[f].name);
  }
  TESSERA_CHECK_GE(options_.num_dense, 0, "random rows: num_dense");
  TESSERA_CHECK_GE(options_.distinct_rows, 0, "random rows: distinct_rows");
  TESSERA_CHECK_GT(options_.rows, 0, "random rows: rows");
}

int64_t RandomRows::Id(size_t feature, int64_t number) const {
  const PhiloxBits bits = Philox(options_.seed, kFeatures + feature, static_cast<uint64_t>(number));
  return UniformBelow(options_.features[feature].rows, bits.v[0], bits.v[1]);
}

KeyedJaggedTensor RandomRows::Features(Context& ctx, std::span<const int64_t> rows) const {
  const auto& ids = options_.ids_per_feature;
  const auto count = static_cast<int64_t>(rows.size());
  const int64_t a_row = std::accumulate(ids.begin(), ids.end(), int64_t{0});
  std::vector<std::string> keys;
  const Tensor values = Tensor::Empty(ctx, {a_row * count}, DType::kI64);
  const Tensor lengths =
      Tensor::Empty(ctx, {static_cast<int64_t>(ids.size()) * count}, DType::kI32);
  int64_t* value = values.data<int64_t>();
  int32_t* length = lengths.data<int32_t>();
  for (size_t f = 0; f < ids.size(); ++f) {
    keys.push_back(options_.features[f].name);
    for (const int64_t row : rows) {
      for (int64_t i = 0; i < ids[f]; ++i) *value++ = Id(f, Distinct(row) * ids[f] + i);
      *length++ = static_cast<int32_t>(ids[f]);
    }
  }
  return KeyedJaggedTensor::FromLengthsSync(keys, values, lengths);
}

Batch RandomRows::Gather(Context& ctx, std::span<const int64_t> rows) const {
  const auto count = static_cast<int64_t>(rows.size());
  Batch batch;
  batch.dense = Tensor::Empty(ctx, {count, options_.num_dense});
  batch.labels = Tensor::Empty(ctx, {count});
  float* dense = batch.dense.data<float>();
  for (int64_t b = 0; b < count; ++b) {
    const auto row = static_cast<uint64_t>(Distinct(rows[static_cast<size_t>(b)]));
    for (int64_t i = 0; i < options_.num_dense; ++i)
      *dense++ = NormalOf(
          Philox(options_.seed, kDense,
                 row * static_cast<uint64_t>(options_.num_dense) + static_cast<uint64_t>(i)));
    batch.labels.data<float>()[b] =
        static_cast<float>(Philox(options_.seed, kLabels, row).v[0] & 1);
  }
  batch.features = Features(ctx, rows);
  return batch;
}

}  // namespace tessera
