#ifndef TESSERA_TESTS_TESTING_RANDOM_BATCH_H_
#define TESSERA_TESTS_TESTING_RANDOM_BATCH_H_
// Random tables and batches for tests of lookup and update: jagged bags with empty ones among them,
// ids uniform or skewed.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "embedding/lookup/lookup.h"
#include "runtime/tensor.h"

namespace tessera::testing {

struct BatchShape {
  std::vector<int64_t> dims = {8};  // one table each
  int64_t rows = 50;
  int64_t batch = 7;
  double mean_length = 4;
  bool weighted = false;
  bool wide_ids = true;
  PoolingType pooling = PoolingType::kSum;
  double skew = 0;          // ids ~ rows·u^(1 + skew): larger is more skewed
  bool pruned_ids = false;  // some ids are −1
  int features_per_table = 1;
  DType row_type = DType::kF32, output_type = DType::kF32, gradient_type = DType::kF32;
  unsigned seed = 1;
};

struct ShapeLimits {
  int64_t rows, batch;
};
// Any shape within the limits: few and many rows and bags, dims small and wide.
inline BatchShape RandomShape(std::mt19937& random, const ShapeLimits& limits) {
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  BatchShape shape;
  shape.dims.clear();
  for (int64_t t = pick(1, 4); t > 0; --t)
    shape.dims.push_back(pick(0, 1) ? pick(1, 40) : pick(1, 20) * 16);
  shape.rows = pick(0, 1) ? pick(1, std::min<int64_t>(50, limits.rows)) : pick(1, limits.rows);
  shape.batch = pick(0, limits.batch);
  shape.mean_length = static_cast<double>(pick(1, 12));
  shape.pooling = static_cast<PoolingType>(pick(0, 2));
  shape.weighted = shape.pooling != PoolingType::kNone && pick(0, 1);
  shape.wide_ids = pick(0, 1);
  shape.pruned_ids = pick(0, 3) == 0;
  shape.skew = pick(0, 1) ? 0 : static_cast<double>(pick(1, 20));
  shape.features_per_table = static_cast<int>(pick(1, 3));
  shape.seed = random();
  return shape;
}

// Owns everything that LookupArgs points to. Features of one table are not adjacent: feature f
// reads table f mod T.
class RandomBatch {
 public:
  RandomBatch(Context& ctx, const BatchShape& shape) : shape_(shape), random_(shape.seed) {
    const size_t tables = shape.dims.size();
    for (const int64_t dim : shape.dims)
      tables_.push_back(Normal(ctx, {shape.rows, dim}).To(ctx, shape.row_type));
    offsets_ = {0};
    std::vector<int64_t> ids;
    const int features = static_cast<int>(tables) * shape.features_per_table;
    for (int64_t bag = 0; bag < features * shape.batch; ++bag) {
      const auto length = std::poisson_distribution<int64_t>(shape.mean_length)(random_);
      for (int64_t i = 0; i < length; ++i) ids.push_back(Id());
      offsets_.push_back(static_cast<int64_t>(ids.size()));
    }
    device_offsets_ = Tensor::From(ctx, offsets_);
    ids_ = Tensor::From(ctx, ids).To(ctx, shape.wide_ids ? DType::kI64 : DType::kI32);
    if (shape.weighted) weights_ = Normal(ctx, {ids_.numel()});
    int64_t first = 0;
    for (int f = 0; f < features; ++f) {
      const int64_t dim = shape.dims[static_cast<size_t>(f) % tables];
      columns_.push_back(first);
      first += dim;
    }
    pooled_ = Tensor::Full(ctx, {shape.batch, first}, -7, shape.output_type);
    for (int f = 0; f < features; ++f) {  // NONE: each feature has its own rows
      const int64_t length = offsets_[static_cast<size_t>((f + 1) * shape.batch)] -
                             offsets_[static_cast<size_t>(f * shape.batch)];
      sequences_.push_back(Tensor::Full(ctx, {length, shape.dims[static_cast<size_t>(f) % tables]},
                                        -7, shape.output_type));
      sequence_grads_.push_back(
          Normal(ctx, sequences_.back().shape()).To(ctx, shape.gradient_type));
      wide_sequence_grads_.push_back(sequence_grads_.back().To(ctx, DType::kF32));
    }
    pooled_grad_ = Normal(ctx, pooled_.shape()).To(ctx, shape.gradient_type);
    wide_pooled_grad_ = pooled_grad_.To(ctx, DType::kF32);
  }

  LookupArgs Lookup() { return Args(pooled_, sequences_); }
  // The lookup's arguments with the gradient of the output in the output's place.
  LookupArgs Gradient() { return Args(pooled_grad_, sequence_grads_); }

  // The bags' numbers, as plainly as can be.
  int num_features() const { return static_cast<int>(columns_.size()); }
  size_t table_of(int feature) const { return static_cast<size_t>(feature) % tables_.size(); }
  const std::vector<Tensor>& tables() const { return tables_; }
  std::vector<Tensor>& tables() { return tables_; }
  const std::vector<int64_t>& offsets() const { return offsets_; }
  std::vector<int64_t> ids(Context& ctx) const {
    return ids_.To(ctx, DType::kI64).ToVector<int64_t>();
  }
  const Tensor& weights() const { return weights_; }
  float weight(int64_t i) const { return weights_ ? weights_.data<float>()[i] : 1.0f; }
  int64_t num_ids() const { return ids_.numel(); }
  // Row b of feature f (NONE: of its id b) in the output, and in the gradient, widened. REQUIRES:
  // outputs of f32; to be read, on the CPU.
  const float* Output(int f, int64_t b) const {
    return static_cast<const float*>(Block(pooled_, sequences_, f, b));
  }
  const float* Grad(int f, int64_t b) const {
    return static_cast<const float*>(Block(wide_pooled_grad_, wide_sequence_grads_, f, b));
  }
  // All outputs.
  std::vector<Tensor> Outputs() const {
    std::vector<Tensor> all = sequences_;
    all.push_back(pooled_);
    return all;
  }

 private:
  Tensor Normal(Context& ctx, const Shape& shape) {
    std::vector<float> values(static_cast<size_t>(shape.numel()));
    std::normal_distribution<float> normal;
    for (float& v : values) v = normal(random_);
    return Tensor::From(ctx, shape, values);
  }
  int64_t Id() {
    if (shape_.pruned_ids && random_() % 8 == 0) return -1;
    const double u = std::uniform_real_distribution<double>(0, 1)(random_);
    return static_cast<int64_t>(static_cast<double>(shape_.rows) * std::pow(u, 1 + shape_.skew));
  }
  void* Block(const Tensor& pooled, const std::vector<Tensor>& sequences, int f, int64_t b) const {
    const auto i = static_cast<size_t>(f);
    const bool none = shape_.pooling == PoolingType::kNone;
    const Tensor& whole = none ? sequences[i] : pooled;
    return static_cast<char*>(whole.raw_data()) +
           (b * whole.dim(1) + (none ? 0 : columns_[i])) * SizeOf(whole.dtype());
  }
  LookupArgs Args(const Tensor& pooled, const std::vector<Tensor>& sequences) {
    features_.clear();
    const bool none = shape_.pooling == PoolingType::kNone;
    for (int f = 0; f < num_features(); ++f) {
      const Tensor& table = tables_[table_of(f)];
      features_.push_back({.rows = table.raw_data(),
                           .row_type = shape_.row_type,
                           .num_rows = shape_.rows,
                           .dim = table.dim(1),
                           .ids = {ids_.raw_data(), shape_.wide_ids},
                           .first_bag = f * shape_.batch,
                           .num_bags = shape_.batch,
                           .pooling = shape_.pooling,
                           .output = Block(pooled, sequences, f, 0),
                           .output_type = pooled.dtype(),
                           .output_stride = none ? table.dim(1) : pooled.dim(1)});
    }
    return {features_,
            {device_offsets_.raw_data(), true},
            weights_ ? weights_.data<float>() : nullptr,
            ids_.numel()};
  }

  BatchShape shape_;
  std::mt19937 random_;
  std::vector<Tensor> tables_, sequences_, sequence_grads_, wide_sequence_grads_;
  Tensor ids_, device_offsets_, weights_, pooled_, pooled_grad_, wide_pooled_grad_;
  std::vector<int64_t> offsets_, columns_;
  std::vector<LookupFeature> features_;
};

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TESTING_RANDOM_BATCH_H_
