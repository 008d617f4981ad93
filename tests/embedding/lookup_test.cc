#include "embedding/lookup/lookup.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <tuple>

#include "embedding/lookup/element.h"
#include "runtime/numbers/lanes.h"
#include "tests/testing/isa_levels.h"
#include "tests/testing/random_batch.h"

namespace tessera {
namespace {

using testing::BatchShape;
using testing::RandomBatch;

// The definition in lookup.h, in double, one number at a time.
double Expected(const RandomBatch& batch, const std::vector<int64_t>& ids, const BatchShape& shape,
                int feature, int64_t row, int64_t d) {
  const Tensor& table = batch.tables()[batch.table_of(feature)];
  const auto value = [&](int64_t i) -> double {
    const int64_t id = ids[static_cast<size_t>(i)];
    return id < 0 ? 0.0 : table.data<float>()[id * table.dim(1) + d];
  };
  const auto first = static_cast<size_t>(feature * shape.batch);
  if (shape.pooling == PoolingType::kNone) return value(batch.offsets()[first] + row);
  const int64_t begin = batch.offsets()[first + static_cast<size_t>(row)],
                end = batch.offsets()[first + static_cast<size_t>(row) + 1];
  double sum = 0;
  for (int64_t i = begin; i < end; ++i) sum += static_cast<double>(batch.weight(i)) * value(i);
  return shape.pooling == PoolingType::kMean && end > begin ? sum / static_cast<double>(end - begin)
                                                            : sum;
}

// A random batch whose tables and outputs have the types given, and what a lookup of it must give,
// to the bit. Feature f leaves out its last f mod 3 bags: batches differ.
class TypedBatch {
 public:
  TypedBatch(Context& ctx, const BatchShape& shape, DType row_type, DType output_type,
             int64_t padding)
      : ctx_(ctx), batch_(ctx, shape), ids_(batch_.ids(ctx)), args_(batch_.Lookup()) {
    for (const Tensor& table : batch_.tables()) {
      tables_.push_back(table.To(ctx, row_type));
      wide_tables_.push_back(tables_.back().To(ctx, DType::kF32).ToVector<float>());
    }
    for (int f = 0; f < batch_.num_features(); ++f) {
      LookupFeature feature = args_.features[static_cast<size_t>(f)];
      feature.rows = tables_[batch_.table_of(f)].raw_data();
      feature.row_type = row_type;
      feature.num_bags -= f % 3;
      feature.output_stride = feature.dim + padding;
      outputs_.push_back(
          Tensor::Full(ctx, {Rows(feature), feature.output_stride}, kUntouched, output_type));
      feature.output = outputs_.back().raw_data();
      feature.output_type = output_type;
      features_.push_back(feature);
    }
    args_.features = features_;
  }

  // The number of features whose outputs are not those expected after a lookup.
  int CountWrong() {
    for (const Tensor& output : outputs_) output.Fill(ctx_, kUntouched);
    Lookup(ctx_, args_);
    int wrong = 0;
    for (size_t f = 0; f < features_.size(); ++f) wrong += !SameBits(outputs_[f], Expected(f));
    return wrong;
  }

  // The number of weights whose gradients are not those expected, to the bit. The output is taken
  // for the gradient of the pooled rows here.
  int CountWrongWeightGradients() {
    for (const Tensor& output : outputs_) {
      const Tensor gradient = Tensor::Empty(ctx_, output.shape());
      FillUniform(ctx_, gradient, -1, 1);
      output.CopyFrom(ctx_, gradient.To(ctx_, output.dtype()));
    }
    Tensor grads = Tensor::Full(ctx_, {batch_.num_ids()}, kUntouched);
    LookupWeightGradients(ctx_, args_, grads.data<float>());
    std::vector<float> expected(static_cast<size_t>(batch_.num_ids()), kUntouched);
    for (size_t f = 0; f < features_.size(); ++f) ExpectWeightGradients(f, expected);
    return !SameBits(grads, Tensor::From(ctx_, expected));
  }

 private:
  static constexpr float kUntouched = -7;

  int64_t Offset(const LookupFeature& f, int64_t bag) const {
    return batch_.offsets()[static_cast<size_t>(f.first_bag + bag)];
  }
  int64_t Rows(const LookupFeature& f) const {
    return f.pooling == PoolingType::kNone ? Offset(f, f.num_bags) - Offset(f, 0) : f.num_bags;
  }
  // The row of an id; null if the id names no row.
  const float* RowOf(size_t f, int64_t i) const {
    const int64_t id = ids_[static_cast<size_t>(i)];
    return id < 0
               ? nullptr
               : wide_tables_[batch_.table_of(static_cast<int>(f))].data() + id * features_[f].dim;
  }

  float ExpectedElement(size_t index, int64_t row, int64_t d) const {
    const LookupFeature& f = features_[index];
    if (f.pooling == PoolingType::kNone) {
      const float* values = RowOf(index, Offset(f, 0) + row);
      return values ? values[d] : 0.0f;
    }
    const int64_t begin = Offset(f, row), end = Offset(f, row + 1);
    float sum = 0;
    for (int64_t i = begin; i < end; ++i)
      if (const float* values = RowOf(index, i)) sum += batch_.weight(i) * values[d];
    return f.pooling == PoolingType::kMean && end > begin ? sum / static_cast<float>(end - begin)
                                                          : sum;
  }

  Tensor Expected(size_t index) const {
    const LookupFeature& f = features_[index];
    std::vector<float> values;
    for (int64_t row = 0; row < Rows(f); ++row)
      for (int64_t d = 0; d < f.output_stride; ++d)
        values.push_back(d < f.dim ? ExpectedElement(index, row, d) : kUntouched);
    return Tensor::From(ctx_, outputs_[index].shape(), values).To(ctx_, f.output_type);
  }

  void ExpectWeightGradients(size_t index, std::vector<float>& expected) const {
    const LookupFeature& f = features_[index];
    for (int64_t b = 0; b < f.num_bags; ++b) {
      for (int64_t i = Offset(f, b); i < Offset(f, b + 1); ++i) {
        double lane[kLanes] = {};
        const float* row = RowOf(index, i);
        for (int64_t d = 0; row && d < f.dim; ++d)
          lane[d % kLanes] += static_cast<double>(internal::LoadElement(f.output, f.output_type,
                                                                        b * f.output_stride + d)) *
                              static_cast<double>(row[d]);
        const auto dot = static_cast<float>(FoldLanes(lane));
        expected[static_cast<size_t>(i)] = f.pooling == PoolingType::kMean
                                               ? MeanScale(Offset(f, b + 1) - Offset(f, b)) * dot
                                               : dot;
      }
    }
  }

  Context& ctx_;
  RandomBatch batch_;
  std::vector<int64_t> ids_;
  LookupArgs args_;
  std::vector<LookupFeature> features_;
  std::vector<Tensor> tables_, outputs_;
  std::vector<std::vector<float>> wide_tables_;
};

constexpr DType kRowTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

class LookupTest : public ::testing::TestWithParam<std::tuple<PoolingType, bool, bool>> {
 protected:
  BatchShape Shape() const {
    BatchShape shape;
    std::tie(shape.pooling, shape.weighted, shape.wide_ids) = GetParam();
    shape.dims = {1, 3, 4, 7, 16, 20, 64, 129, 256, 300};
    shape.pruned_ids = true;
    shape.features_per_table = 2;
    return shape;
  }
};

TEST_P(LookupTest, IsTheDefinitionForAnyDim) {
  const BatchShape shape = Shape();
  Context ctx({.threads = 2});
  RandomBatch batch(ctx, shape);
  const std::vector<int64_t> ids = batch.ids(ctx);
  Lookup(ctx, batch.Lookup());
  for (int f = 0; f < batch.num_features(); ++f) {
    const int64_t dim = batch.tables()[batch.table_of(f)].dim(1), first = f * shape.batch;
    const int64_t rows = shape.pooling == PoolingType::kNone
                             ? batch.offsets()[static_cast<size_t>(first + shape.batch)] -
                                   batch.offsets()[static_cast<size_t>(first)]
                             : shape.batch;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t d = 0; d < dim; ++d)
        ASSERT_NEAR(batch.Output(f, row)[d], Expected(batch, ids, shape, f, row, d), 2e-5)
            << "feature " << f << " row " << row;
  }
}

TEST_P(LookupTest, GivesTheBitsOfTheScalarReferenceForAllTypesInstructionSetsAndThreads) {
  for (const DType row_type : kRowTypes) {
    for (const DType output_type : kRowTypes) {
      for (const int threads : {1, 3}) {
        Context ctx({.threads = threads});
        TypedBatch batch(ctx, Shape(), row_type, output_type, /*padding=*/3);
        for (const IsaLevel level : testing::IsaLevels()) {
          const testing::ScopedIsa isa(level);
          EXPECT_EQ(batch.CountWrong(), 0)
              << ToString(row_type) << " to " << ToString(output_type) << " on " << ToString(level)
              << ", " << threads << " threads";
        }
      }
    }
  }
}

TEST_P(LookupTest, WeightGradientsHaveTheBitsOfTheScalarReference) {
  if (Shape().pooling == PoolingType::kNone) return;  // sequences take no weights
  for (const DType row_type : kRowTypes) {
    for (const DType gradient_type : kRowTypes) {
      Context ctx({.threads = 2});
      TypedBatch batch(ctx, Shape(), row_type, gradient_type, /*padding=*/0);
      for (const IsaLevel level : testing::IsaLevels()) {
        const testing::ScopedIsa isa(level);
        EXPECT_EQ(batch.CountWrongWeightGradients(), 0)
            << ToString(row_type) << ", gradient " << ToString(gradient_type) << " on "
            << ToString(level);
      }
    }
  }
}

TEST_P(LookupTest, WeightGradientsAreDotProductsWithTheRows) {
  const BatchShape shape = Shape();
  if (shape.pooling == PoolingType::kNone) return;
  Context ctx({.threads = 2});
  RandomBatch batch(ctx, shape);
  const std::vector<int64_t> ids = batch.ids(ctx);
  std::vector<float> grads(static_cast<size_t>(batch.num_ids()), -9);
  LookupWeightGradients(ctx, batch.Gradient(), grads.data());
  for (int f = 0; f < batch.num_features(); ++f) {
    const Tensor& table = batch.tables()[batch.table_of(f)];
    for (int64_t b = 0; b < shape.batch; ++b) {
      const auto bag = static_cast<size_t>(f * shape.batch + b);
      const int64_t length = batch.offsets()[bag + 1] - batch.offsets()[bag];
      for (int64_t i = batch.offsets()[bag]; i < batch.offsets()[bag + 1]; ++i) {
        const int64_t id = ids[static_cast<size_t>(i)];
        double dot = 0;
        for (int64_t d = 0; id >= 0 && d < table.dim(1); ++d)
          dot += static_cast<double>(batch.Grad(f, b)[d]) *
                 static_cast<double>(table.data<float>()[id * table.dim(1) + d]);
        if (shape.pooling == PoolingType::kMean) dot /= static_cast<double>(length);
        ASSERT_NEAR(grads[static_cast<size_t>(i)], dot, 1e-5 + 1e-6 * std::abs(dot));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Everything, LookupTest,
                         ::testing::Combine(::testing::Values(PoolingType::kSum,
                                                              PoolingType::kMean),
                                            ::testing::Bool(), ::testing::Bool()));
INSTANTIATE_TEST_SUITE_P(Sequences, LookupTest,
                         ::testing::Combine(::testing::Values(PoolingType::kNone),
                                            ::testing::Values(false), ::testing::Bool()));

TEST(Lookup, LargeOutputsThatAreWrittenPastTheCachesAreTheSame) {
  const BatchShape shape{.dims = {128, 64, 20}, .rows = 500, .batch = 12000, .mean_length = 2};
  Context ctx({.threads = 2});
  for (const DType output_type : kRowTypes) {
    TypedBatch batch(ctx, shape, DType::kF32, output_type, /*padding=*/0);
    for (const IsaLevel level : testing::IsaLevels()) {
      const testing::ScopedIsa isa(level);
      EXPECT_EQ(batch.CountWrong(), 0) << ToString(output_type) << " on " << ToString(level);
    }
  }
}

// Every row of `table` in turn, as a sequence of the output type.
Tensor EveryRow(Context& ctx, const Tensor& table, DType output_type) {
  std::vector<int64_t> ids(static_cast<size_t>(table.dim(0)));
  std::iota(ids.begin(), ids.end(), 0);
  const Tensor output = Tensor::Empty(ctx, table.shape(), output_type),
               ids_tensor = Tensor::From(ctx, ids),
               offsets = Tensor::From<int64_t>(ctx, {0, table.dim(0)});
  const LookupFeature feature{.rows = table.raw_data(),
                              .row_type = table.dtype(),
                              .num_rows = table.dim(0),
                              .dim = table.dim(1),
                              .ids = {ids_tensor.raw_data(), true},
                              .num_bags = 1,
                              .pooling = PoolingType::kNone,
                              .output = output.raw_data(),
                              .output_type = output_type,
                              .output_stride = table.dim(1)};
  Lookup(ctx, {{&feature, 1}, {offsets.raw_data(), true}, nullptr, table.dim(0)});
  return output;
}

// Looked up as `type`, `values` are converted as the scalar definition does, NaNs too, by whole
// registers and by tails.
void ExpectConversion(const Tensor& values, DType type) {
  Context ctx;
  const int64_t dim = 3 * 31;  // whole packs of every instruction set, and a tail
  const int64_t rows = values.numel() / dim;
  const Tensor table = values.Rows(0, rows * dim).Reshape({rows, dim});
  const Tensor expected = table.To(ctx, type);
  for (const IsaLevel level : testing::IsaLevels()) {
    const testing::ScopedIsa isa(level);
    EXPECT_TRUE(SameBits(EveryRow(ctx, table, type), expected))
        << ToString(values.dtype()) << " to " << ToString(type) << " on " << ToString(level);
  }
}

TEST(Lookup, WidensEvery16BitFloatOnEveryInstructionSet) {
  Context ctx;
  std::vector<Half> halves;
  std::vector<BFloat16> bfloats;
  for (uint32_t bits = 0; bits < 65536 + 29; ++bits) {  // 29 more, so that no row is left over
    halves.push_back(Half::FromBits(static_cast<uint16_t>(bits)));
    bfloats.push_back(BFloat16::FromBits(static_cast<uint16_t>(bits)));
  }
  ExpectConversion(Tensor::From(ctx, halves), DType::kF32);
  ExpectConversion(Tensor::From(ctx, bfloats), DType::kF32);
}

TEST(Lookup, RoundsFloatsOnEveryInstructionSet) {
  // The values are about all of both types, with the ties between neighbours and the numbers beside
  // these; then random bits, NaNs and infinities among them.
  std::vector<float> values;
  for (uint32_t upper = 0; upper < 65536; ++upper)
    for (const uint32_t lower : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      values.push_back(std::bit_cast<float>(upper << 16 | lower));
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = static_cast<float>(Half::FromBits(static_cast<uint16_t>(bits))),
                high = static_cast<float>(Half::FromBits(static_cast<uint16_t>(bits + 1))),
                tie = low + (high - low) / 2;
    for (const float value : {low, std::nextafter(tie, low), tie, std::nextafter(tie, high)}) {
      values.push_back(value);
      values.push_back(-value);
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 300'000; ++i)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  Context ctx;
  const Tensor tensor = Tensor::From(ctx, values);
  ExpectConversion(tensor, DType::kF16);
  ExpectConversion(tensor, DType::kBF16);
}

TEST(Lookup, EmptyInputsAreFine) {
  Context ctx;
  for (const int64_t batch_size : {0, 5}) {
    const BatchShape shape{.dims = {4, 9}, .batch = batch_size, .mean_length = 0.0001};
    RandomBatch batch(ctx, shape);
    Lookup(ctx, batch.Lookup());
    for (int64_t b = 0; b < batch_size; ++b) EXPECT_EQ(batch.Output(1, b)[2], 0.0f);
  }
  Lookup(ctx, {});
}

TEST(Lookup, RefusesWhatMakesNoSense) {
  Context ctx;
  RandomBatch batch(ctx, {.weighted = true});
  LookupArgs args = batch.Lookup();
  std::vector<LookupFeature> features(args.features.begin(), args.features.end());
  features[0].pooling = PoolingType::kNone;
  args.features = features;
  EXPECT_THROW(Lookup(ctx, args), Error);
  features[0].pooling = PoolingType::kSum;
  features[0].dim = 0;
  EXPECT_THROW(Lookup(ctx, args), Error);
  features[0].dim = 8;
  features[0].row_type = DType::kI8;
  EXPECT_THROW(Lookup(ctx, args), Error);
  features[0].row_type = DType::kBF16;
  features[0].output_type = DType::kF64;
  EXPECT_THROW(Lookup(ctx, args), Error);
  features[0].output_type = DType::kF16;
  features.push_back(batch.Lookup().features[0]);
  args.features = features;
  EXPECT_THROW(LookupWeightGradients(ctx, args, nullptr), Error);  // gradients of two types
}

}  // namespace
}  // namespace tessera
