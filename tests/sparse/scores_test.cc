#include <gtest/gtest.h>

#include <cmath>

#include "sparse/batched_unary_embeddings.h"
#include "sparse/histogram_binning_calibration.h"
#include "sparse/ops/row_runs.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

class BatchedUnaryEmbeddingsTest : public testing::DeviceTest {};
class HistogramBinningCalibrationTest : public testing::DeviceTest {};

using Longs = std::vector<int64_t>;
using Doubles = std::vector<double>;

TEST_P(BatchedUnaryEmbeddingsTest, SumsRowsOfEachTask) {
  Context& ctx = this->ctx();
  // Tables of 2 and 3 rows, two bags each; task 1 holds ten times task 0.
  const Tensor weight =
      Tensor::From(ctx, {2, 5, 1}, std::vector<float>{1, 2, 3, 4, 5, 10, 20, 30, 40, 50});
  const Tensor tables = Tensor::From(ctx, Longs{0, 2, 5}),
               offsets = Tensor::From(ctx, Longs{0, 2, 2, 3, 5});
  const Tensor ids = Tensor::From(ctx, Longs{0, 1, 2, 0, 0});
  const Variable y = BatchedUnaryEmbeddings(ctx, weight, tables, offsets, ids);
  EXPECT_EQ(y.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(y.value().ToVector<float>(), (std::vector<float>{3, 5, 0, 6, 30, 50, 0, 60}));
  testing::ExpectGradient(ctx,
                          [&](Context& c, const std::vector<Variable>& in) {
                            return BatchedUnaryEmbeddings(c, in[0], tables, offsets, ids);
                          },
                          {testing::RandomTensor(ctx, {2, 5, 1})});
  EXPECT_EQ(BatchedUnaryEmbeddings(ctx, weight, tables, Tensor::From(ctx, Longs{0}),
                                   Tensor::Empty(ctx, {0}, DType::kI64))
                .dim(1),
            0);
  EXPECT_THROW(BatchedUnaryEmbeddings(ctx, weight, tables, Tensor::From(ctx, Longs{0, 5}), ids),
               Error);
  EXPECT_EQ(testing::ErrorOf([&] {
              BatchedUnaryEmbeddings(ctx, Tensor::Zeros(ctx, {2, 5}), tables, offsets, ids);
            }),
            "BatchedUnaryEmbeddings: weight [2, 5]; expected [N, rows, 1]");
  const Tensor outside = Tensor::From(ctx, Longs{0, 2, 2, -1, 0});
  if (!on_cpu()) {  // ids outside add nothing
    EXPECT_EQ(
        BatchedUnaryEmbeddings(ctx, weight, tables, offsets, outside).value().ToVector<float>(),
        (std::vector<float>{1, 5, 0, 3, 10, 50, 0, 30}));
    return;
  }
  EXPECT_THROW(BatchedUnaryEmbeddings(ctx, weight, tables, offsets, outside), Error);
  EXPECT_THROW(
      BatchedUnaryEmbeddings(ctx, weight, tables, Tensor::From(ctx, Longs{0, 2, 2, 3, 4}), ids),
      Error);
  EXPECT_THROW(BatchedUnaryEmbeddings(ctx, weight, Tensor::From(ctx, Longs{0, 2, 4}), offsets, ids),
               Error);
}

float Logit(double p) { return static_cast<float>(std::log(p / (1 - p))); }

TEST_P(HistogramBinningCalibrationTest, ReplacesByTheObservedRate) {
  Context& ctx = this->ctx();
  const HistogramBins bins{Tensor::From(ctx, Doubles{10, 100}), Tensor::From(ctx, Doubles{1, 80}),
                           1, 20, .5};
  const Tensor logit =
      Tensor::From(ctx, std::vector<float>{Logit(.25), Logit(.75), -INFINITY, INFINITY});
  const Calibrated got = HistogramBinningCalibration(ctx, logit, bins);
  EXPECT_EQ(got.bin_ids.ToVector<int64_t>(), (Longs{0, 1, 0, 1}));
  const std::vector<float> y = got.y.ToVector<float>();
  EXPECT_NEAR(y[0], .25, 1e-6);  // too few examples
  EXPECT_NEAR(y[1], .5 * .8 + .5 * .75, 1e-6);
  EXPECT_EQ(y[2], 0);
  EXPECT_NEAR(y[3], .9, 1e-6);
  EXPECT_EQ(HistogramBinningCalibration(ctx, logit.To(ctx, DType::kF64), bins).y.dtype(),
            DType::kF64);
}

TEST_P(HistogramBinningCalibrationTest, SegmentsHaveBinsOfTheirOwn) {
  Context& ctx = this->ctx();
  const HistogramBins bins{Tensor::From(ctx, Doubles(6, 100.0)),
                           Tensor::From(ctx, Doubles{0, 10, 20, 30, 40, 50})};
  // Samples: value 0, two values, no value, value 1, value 2 (above), value -7 (below).
  const HistogramSegments segments{Tensor::From(ctx, Longs{0, 1, 1, 1, 2, -7}),
                                   Tensor::From(ctx, Longs{1, 2, 0, 1, 1, 1}), 2};
  const Tensor logit = Tensor::Full(ctx, {6}, 1);
  EXPECT_EQ(HistogramBinningCalibrationByFeature(ctx, logit, bins, segments, 2)
                .bin_ids.ToVector<int64_t>(),
            (Longs{3, 1, 1, 5, 1, 1}));
  const Calibrated generic = GenericHistogramBinningCalibrationByFeature(
      ctx, logit, bins, segments, Tensor::From(ctx, Doubles{.9}));
  EXPECT_EQ(generic.bin_ids.ToVector<int64_t>(), (Longs{2, 0, 0, 4, 0, 0}));
  EXPECT_NEAR(generic.y.ToVector<float>()[3], .4, 1e-6);
}

TEST_P(HistogramBinningCalibrationTest, Errors) {
  Context& ctx = this->ctx();
  const HistogramBins bins{Tensor::Zeros(ctx, {2}, DType::kF64),
                           Tensor::Zeros(ctx, {2}, DType::kF64)};
  const HistogramSegments segments{Tensor::From(ctx, Longs{0}), Tensor::From(ctx, Longs{1}), 0};
  const Tensor logit = Tensor::Zeros(ctx, {1});
  HistogramBinningCalibrationByFeature(ctx, logit, bins, segments, 2);
  EXPECT_EQ(testing::ErrorOf(
                [&] { HistogramBinningCalibrationByFeature(ctx, logit, bins, segments, 3); }),
            "HistogramBinningCalibrationByFeature: bin_num_examples [2] and bin_num_positives [2]; "
            "expected [3] twice, 3 bins of each segment and of none");
  EXPECT_THROW(
      HistogramBinningCalibrationByFeature(ctx, Tensor::Zeros(ctx, {2}), bins, segments, 2), Error);
  const HistogramBins none{Tensor::Zeros(ctx, {0}, DType::kF64),
                           Tensor::Zeros(ctx, {0}, DType::kF64)};
  EXPECT_THROW(HistogramBinningCalibrationByFeature(ctx, logit, none,
                                                    {segments.value, segments.lengths, -1}, 2),
               Error);
  EXPECT_THROW(HistogramBinningCalibration(ctx, logit, bins, 1, 1), Error);
  EXPECT_THROW(HistogramBinningCalibration(ctx, logit, {bins.num_examples, bins.num_positives, 0}),
               Error);
  EXPECT_THROW(HistogramBinningCalibration(
                   ctx, logit, {bins.num_examples, Tensor::Zeros(ctx, {1}, DType::kF64)}),
               Error);
  if (!on_cpu()) return;  // a device does not look at what follows
  EXPECT_THROW(HistogramBinningCalibrationByFeature(
                   ctx, logit, bins, {segments.value, Tensor::From(ctx, Longs{2}), 0}, 2),
               Error);
  EXPECT_THROW(GenericHistogramBinningCalibrationByFeature(ctx, logit, bins, segments,
                                                           Tensor::From(ctx, Doubles{.9, .1})),
               Error);
}

TESSERA_INSTANTIATE_DEVICES(BatchedUnaryEmbeddingsTest);
TESSERA_INSTANTIATE_DEVICES(HistogramBinningCalibrationTest);

}  // namespace
}  // namespace tessera
