#include "runtime/ops/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/ops/norm.h"
#include "runtime/ops/similarity.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using testing::ExpectCpusBits;
using testing::ExpectGradient;
using testing::RandomTensor;

class LossTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(LossTest);
class NormTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(NormTest);
class SimilarityTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(SimilarityTest);

double Scalar(const Variable& v) {
  EXPECT_EQ(v.shape(), Shape{});
  return v.value().ToVector<float>()[0];
}

Tensor Positive(Context& ctx, const Shape& shape) {  // in [0.1, 0.9]
  return testing::MapTensor(ctx, RandomTensor(ctx, shape, 0.375), [](float v) { return v + 0.5f; });
}

TEST_P(LossTest, BceWithLogits) {
  Context ctx({.device = device(), .seed = 1});
  const int64_t n = 3001;  // several chunks
  const Tensor x = RandomTensor(ctx, {n}, 6), t = Positive(ctx, {n}), w = Positive(ctx, {n});
  const std::vector<float> xs = x.ToVector<float>(), ts = t.ToVector<float>(),
                           ws = w.ToVector<float>();
  double plain = 0, weighted = 0;
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    const double p = 1 / (1 + std::exp(-static_cast<double>(xs[i]))), y = ts[i];
    const double loss = -y * std::log(p) - (1 - y) * std::log(1 - p);
    plain += loss / n;
    weighted += ws[i] * loss / n;
  }
  EXPECT_NEAR(Scalar(BceWithLogits(ctx, x, t)), plain, 1e-6);
  EXPECT_NEAR(Scalar(BceWithLogits(ctx, x, t, w)), weighted, 1e-6);
  const Tensor x2 = RandomTensor(ctx, {4, 2}, 3), t2 = Positive(ctx, {4, 2}),
               w2 = Positive(ctx, {4, 2});
  ExpectGradient(ctx, [&](Context& c, const auto& v) { return BceWithLogits(c, v[0], t2, w2); },
                 {x2});
}

// Row 1 has no label, row 3 is left out by `where`.
TEST_P(LossTest, RowsThatCount) {
  Context ctx({.device = device(), .seed = 1});
  const float nan = std::nanf("");
  const Tensor table = Tensor::From<float>(ctx, {5, 2}, {1, 1, nan, 1, 0, 2, 1, 0, 3, 1}),
               weights = Tensor::From<float>(ctx, {2, 9, 0, 4, 1});
  const auto column = [&](int64_t c) { return table.Narrow(1, c, 1); };
  const Tensor label = column(0), where = column(1);
  const LossRows all = RowsThatCount(ctx, 5, label, {}, {});
  EXPECT_EQ(all.labels.ToVector<float>(), (std::vector<float>{1, 0, 0, 1, 3}));
  EXPECT_EQ(all.weights.ToVector<float>(), (std::vector<float>{1, 0, 1, 1, 1}));
  EXPECT_EQ(all.total.ToVector<float>()[0], 4);
  const LossRows some = RowsThatCount(ctx, 5, label, weights, where);
  EXPECT_EQ(some.labels.ToVector<float>(), (std::vector<float>{1, 0, 0, 0, 3}));
  EXPECT_EQ(some.weights.ToVector<float>(), (std::vector<float>{2, 0, 0, 0, 1}));
  EXPECT_EQ(some.total.ToVector<float>()[0], 3);
  EXPECT_EQ(RowsThatCount(ctx, 2, {}, {}, {}).total.ToVector<float>()[0], 2);
  EXPECT_EQ(RowsThatCount(ctx, 0, {}, {}, {}).total.ToVector<float>()[0], 0);
}

// Σ w·l·factor/total: without weights and of all rows the bits of the mean; 0 where none counts.
TEST_P(LossTest, LossesOverATotal) {
  Context ctx({.device = device(), .seed = 1});
  const Tensor x = RandomTensor(ctx, {301}, 3), t = Positive(ctx, {301}), w = Positive(ctx, {301});
  const LossRows rows = RowsThatCount(ctx, 301, t, {}, {}),
                 weighed = RowsThatCount(ctx, 301, t, w, {});
  const auto bits = [&](auto&& loss) {
    Tape tape(ctx);
    Variable v(x, true);
    const Variable value = loss(v);
    tape.Backward(value);
    return std::pair(value.value().ToVector<float>(), v.grad().ToVector<float>());
  };
  EXPECT_EQ(bits([&](const auto& v) { return BceWithLogits(ctx, v, t); }), bits([&](const auto& v) {
              return BceWithLogits(ctx, v, rows.labels, rows.weights, {rows.total});
            }));
  EXPECT_EQ(bits([&](const auto& v) { return Mse(ctx, v, t); }), bits([&](const auto& v) {
              return Mse(ctx, v, rows.labels, rows.weights, {rows.total});
            }));
  const float total = weighed.total.ToVector<float>()[0];
  EXPECT_NEAR(Scalar(Mse(ctx, x, t, weighed.weights, {weighed.total, 2})),
              Scalar(Mse(ctx, x, t, w)) * 301 / total * 2, 1e-4);
  const LossRows none = RowsThatCount(ctx, 301, Tensor::Full(ctx, {301}, std::nan("")), w, {});
  const auto [loss, slopes] = bits([&](const auto& v) {
    return BceWithLogits(ctx, v, none.labels, none.weights, {none.total});
  });
  EXPECT_EQ(loss[0], 0);
  EXPECT_EQ(slopes, std::vector<float>(301, 0));
  EXPECT_EQ(Scalar(Mse(ctx, x.Rows(0, 0), t.Rows(0, 0), {}, {rows.total})), 0);
}

// Two halves of the queries against all candidates, each over the weights of all.
TEST_P(LossTest, InBatchSoftmaxOfPartsOfTheQueries) {
  Context ctx({.device = device(), .seed = 4});
  const Tensor q = RandomTensor(ctx, {6, 3}, 1), c = RandomTensor(ctx, {6, 3}, 1),
               w = Tensor::From<float>(ctx, {1, 2, 0, 1, 3, 1});
  const LossRows rows = RowsThatCount(ctx, 6, {}, w, {});
  const double whole = Scalar(InBatchSoftmax(ctx, q, c, {.weights = w, .over = {rows.total}}));
  double parts = 0;
  for (const int64_t first : {0, 2})
    parts += Scalar(InBatchSoftmax(
        ctx, q.Rows(first, first == 0 ? 2 : 6), c,
        {.first = first, .weights = w.Rows(first, first == 0 ? 2 : 6), .over = {rows.total}}));
  EXPECT_NEAR(parts, whole, 1e-6);
  EXPECT_NEAR(
      Scalar(InBatchSoftmax(ctx, q, c)),
      Scalar(InBatchSoftmax(ctx, q, c, {.over = {RowsThatCount(ctx, 6, {}, {}, {}).total}})), 1e-7);
  ExpectGradient(ctx,
                 [&](Context& on, const auto& v) {
                   return InBatchSoftmax(
                       on, v[0], v[1],
                       {.first = 1, .weights = w.Rows(1, 5), .over = {rows.total, 2}});
                 },
                 {q.Rows(1, 5), c});
}

// mean of w·loss: of an item alone, w times its loss.
TEST_P(LossTest, WeightsOfBceAndMse) {
  Context ctx({.device = device(), .seed = 3});
  const Tensor p = Positive(ctx, {5}), t = Positive(ctx, {5}), w = Positive(ctx, {5});
  const std::vector<float> ws = w.ToVector<float>();
  double bce = 0, mse = 0;
  for (int64_t i = 0; i < 5; ++i) {
    const Tensor one = p.Rows(i, i + 1), label = t.Rows(i, i + 1);
    bce += ws[static_cast<size_t>(i)] * Scalar(Bce(ctx, one, label)) / 5;
    mse += ws[static_cast<size_t>(i)] * Scalar(Mse(ctx, one, label)) / 5;
  }
  EXPECT_NEAR(Scalar(Bce(ctx, p, t, w)), bce, 1e-6);
  EXPECT_NEAR(Scalar(Mse(ctx, p, t, w)), mse, 1e-6);
  ExpectGradient(ctx, [&](Context& c, const auto& v) { return Bce(c, v[0], t, w); }, {p},
                 {.step = 1.0f / 256});
  ExpectGradient(ctx, [&](Context& c, const auto& v) { return Mse(c, v[0], t, w); }, {p});
}

TEST_P(LossTest, BceWithLogitsOfLargeLogits) {
  Context ctx({.device = device()});
  const Tensor x = Tensor::From<float>(ctx, {200, -200}), t = Tensor::From<float>(ctx, {0, 1});
  EXPECT_EQ(Scalar(BceWithLogits(ctx, x, t)), 200);
}

TEST_P(LossTest, Bce) {
  Context ctx({.device = device(), .seed = 2});
  const Tensor p = Positive(ctx, {9}), t = Positive(ctx, {9});
  const std::vector<float> ps = p.ToVector<float>(), ts = t.ToVector<float>();
  double expected = 0;
  for (size_t i = 0; i < 9; ++i) {
    const double q = ps[i], y = ts[i];
    expected += (-y * std::log(q) - (1 - y) * std::log(1 - q)) / 9;
  }
  EXPECT_NEAR(Scalar(Bce(ctx, p, t)), expected, 1e-6);
  EXPECT_EQ(Scalar(Bce(ctx, Tensor::From<float>(ctx, {0, 1}), Tensor::From<float>(ctx, {1, 1}))),
            50);
  ExpectGradient(ctx, [&](Context& c, const auto& v) { return Bce(c, v[0], t); }, {p},
                 {.step = 1.0f / 256});
}

TEST_P(LossTest, Mse) {
  Context ctx({.device = device(), .seed = 3});
  EXPECT_EQ(Scalar(Mse(ctx, Tensor::From<float>(ctx, {1, 4}), Tensor::From<float>(ctx, {0, 2}))),
            2.5);
  const Tensor t = RandomTensor(ctx, {7});
  ExpectGradient(ctx, [&](Context& c, const auto& v) { return Mse(c, v[0], t); },
                 {RandomTensor(ctx, {7})});
}

TEST_P(LossTest, SoftmaxCrossEntropy) {
  Context ctx({.device = device(), .seed = 4});
  const int64_t b = 37, classes = 5;
  const Tensor x = RandomTensor(ctx, {b, classes}, 4);
  const std::vector<float> xs = x.ToVector<float>();
  std::vector<int32_t> labels;
  double expected = 0;
  for (int64_t r = 0; r < b; ++r) {
    labels.push_back(static_cast<int32_t>(r * 3 % classes));
    double sum = 0;
    for (int64_t j = 0; j < classes; ++j) sum += std::exp(xs[static_cast<size_t>(r * classes + j)]);
    expected += (std::log(sum) - xs[static_cast<size_t>(r * classes + labels.back())]) / b;
  }
  const Tensor t = Tensor::From(ctx, labels);
  EXPECT_NEAR(Scalar(SoftmaxCrossEntropy(ctx, x, t)), expected, 1e-6);
  EXPECT_NEAR(Scalar(SoftmaxCrossEntropy(ctx, Tensor::From<float>(ctx, {1, 2}, {1e4f, -1e4f}),
                                         Tensor::From<int64_t>(ctx, {1}))),
              2e4, 1);
  const Tensor few = Tensor::From<int64_t>(ctx, {2, 0, 1});
  ExpectGradient(ctx, [&](Context& c, const auto& v) { return SoftmaxCrossEntropy(c, v[0], few); },
                 {RandomTensor(ctx, {3, 4})});
}

TEST_P(LossTest, InBatchSoftmax) {
  Context ctx({.device = device(), .seed = 5});
  const Tensor q = RandomTensor(ctx, {5, 3}), c = RandomTensor(ctx, {5, 3});
  for (bool normalize : {false, true}) {
    const InBatchSoftmaxOptions options{.temperature = 0.5f, .normalize = normalize};
    ExpectGradient(
        ctx, [&](Context& k, const auto& v) { return InBatchSoftmax(k, v[0], v[1], options); },
        {q, c}, {.step = 1.0f / 256, .tolerance = 2e-3});
  }
  EXPECT_NEAR(Scalar(InBatchSoftmax(ctx, Tensor::Zeros(ctx, {8, 2}), Tensor::Zeros(ctx, {8, 2}))),
              std::log(8.0), 1e-6);
  EXPECT_THROW(InBatchSoftmax(ctx, q, c, {.temperature = 0}), Error);
  EXPECT_THROW(InBatchSoftmax(ctx, q, RandomTensor(ctx, {4, 3})), Error);
  EXPECT_THROW(InBatchSoftmax(ctx, q, c, {.first = INT64_MAX}), Error);
}

TEST(LossOnCpuTest, SameBitsWithAnyNumberOfThreads) {
  Context one({.threads = 1}), two({.threads = 2});
  const Tensor x = RandomTensor(one, {5000}), t = Positive(one, {5000});
  EXPECT_TRUE(SameBits(BceWithLogits(one, x, t).value(), BceWithLogits(two, x, t).value()));
  const Tensor logits = RandomTensor(one, {300, 7}),
               labels = Tensor::Zeros(one, {300}, DType::kI64);
  EXPECT_TRUE(SameBits(SoftmaxCrossEntropy(one, logits, labels).value(),
                       SoftmaxCrossEntropy(two, logits, labels).value()));
}

TEST_P(LossTest, Errors) {
  Context ctx({.device = device()});
  const Tensor x = RandomTensor(ctx, {3}), bad = RandomTensor(ctx, {4});
  EXPECT_THROW(BceWithLogits(ctx, x, bad), Error);
  EXPECT_THROW(BceWithLogits(ctx, x, {}), Error);
  EXPECT_THROW(BceWithLogits(ctx, x, x, bad), Error);
  EXPECT_THROW(BceWithLogits(ctx, x, Tensor::Zeros(ctx, {3}, DType::kI64)), Error);
  EXPECT_EQ(testing::ErrorOf([&] { BceWithLogits(ctx, {}, x); }),
            "BceWithLogits: the input is undefined");
  EXPECT_EQ(testing::ErrorOf([&] {
              SoftmaxCrossEntropy(ctx, RandomTensor(ctx, {2, 3}), {});
            }),
            "SoftmaxCrossEntropy: labels are undefined");
  EXPECT_EQ(testing::ErrorOf([&] {
              CosineSimilarity(ctx, RandomTensor(ctx, {2, 3}), {});
            }),
            "CosineSimilarity: q [2, 3] and c undefined; expected [B, D] twice");
  EXPECT_THROW(Mse(ctx, Tensor::Zeros(ctx, {0}), Tensor::Zeros(ctx, {0})), Error);
  const Tensor logits = RandomTensor(ctx, {2, 3});
  for (int64_t label : {3, -1}) {
    const auto loss = [&] {
      return SoftmaxCrossEntropy(ctx, logits, Tensor::From<int64_t>(ctx, {0, label}));
    };
    if (on_cpu()) {
      EXPECT_THROW(loss(), Error);
    } else {
      EXPECT_TRUE(std::isnan(Scalar(loss())));
    }
  }
  EXPECT_THROW(SoftmaxCrossEntropy(ctx, logits, Tensor::From<int64_t>(ctx, {0})), Error);
  EXPECT_THROW(SoftmaxCrossEntropy(ctx, logits, x), Error);
}

TEST_P(NormTest, LayerNormAgreesWithDouble) {
  Context ctx({.device = device(), .seed = 6});
  const Tensor ones = Tensor::Full(ctx, {2}, 1);
  for (const float wrong : {-1.0f, std::numeric_limits<float>::quiet_NaN()})
    EXPECT_THROW(LayerNorm(ctx, ones, ones, ones, wrong), Error);
  for (int64_t dim : {1, 3, 16, 33, 129}) {
    const int64_t rows = 70;
    const Tensor x = RandomTensor(ctx, {rows, dim}, 5), w = RandomTensor(ctx, {dim}),
                 b = RandomTensor(ctx, {dim});
    const std::vector<float> xs = x.ToVector<float>(), ws = w.ToVector<float>(),
                             bs = b.ToVector<float>(),
                             y = LayerNorm(ctx, x, w, b).value().ToVector<float>();
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = xs.data() + r * dim;
      double mean = 0, variance = 0;
      for (int64_t i = 0; i < dim; ++i) mean += row[i] / static_cast<double>(dim);
      for (int64_t i = 0; i < dim; ++i)
        variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(dim);
      for (int64_t i = 0; i < dim; ++i)
        EXPECT_NEAR(y[static_cast<size_t>(r * dim + i)],
                    (row[i] - mean) / std::sqrt(variance + 1e-5) * ws[static_cast<size_t>(i)] +
                        bs[static_cast<size_t>(i)],
                    1e-5);
    }
  }
}

TEST_P(NormTest, HasTheCpusBits) {
  for (int64_t dim : {1, 5, 32, 100}) {
    const auto all = [](Context& c, const auto& v) {
      return std::vector{LayerNorm(c, v[0], v[1], v[2]), SwishLayerNorm(c, v[0], v[1], v[2]),
                         NormalizeRows(c, v[0]), NormalizeRows(c, v[0], 3.0f)};
    };
    ExpectCpusBits(device(), all, {{130, dim}, {dim}, {dim}});
  }
}

TEST_P(NormTest, Gradients) {
  Context ctx({.device = device(), .seed = 7});
  const std::vector<Tensor> inputs = {RandomTensor(ctx, {6, 5}), RandomTensor(ctx, {5}),
                                      RandomTensor(ctx, {5})};
  ExpectGradient(ctx, [](Context& c, const auto& v) { return LayerNorm(c, v[0], v[1], v[2]); },
                 inputs, {.tolerance = 3e-3});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return SwishLayerNorm(c, v[0], v[1], v[2]); },
                 inputs, {.tolerance = 3e-3});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return LayerNorm(c, v[0], v[1], v[2]); },
                 {RandomTensor(ctx, {2, 40, 3}), RandomTensor(ctx, {3}), RandomTensor(ctx, {3})},
                 {.step = 1.0f / 512, .tolerance = 2e-2});
  ExpectGradient(ctx, [](Context& c, const auto& v) { return NormalizeRows(c, v[0]); }, {inputs[0]},
                 {.step = 1.0f / 256});
  // Below eps the divisor is a constant.
  ExpectGradient(ctx, [](Context& c, const auto& v) { return NormalizeRows(c, v[0], 10.0f); },
                 {inputs[0]});
}

TEST_P(NormTest, ErrorsAndEmpty) {
  Context ctx({.device = device()});
  const Tensor w = RandomTensor(ctx, {3}), x = RandomTensor(ctx, {2, 3});
  EXPECT_THROW(LayerNorm(ctx, x, RandomTensor(ctx, {2}), w), Error);
  EXPECT_THROW(LayerNorm(ctx, x, w, {}), Error);
  EXPECT_EQ(testing::ErrorOf([&] { LayerNorm(ctx, {}, w, w); }),
            "LayerNorm: the input is undefined");
  EXPECT_THROW(LayerNorm(ctx, Tensor::Zeros(ctx, {2, 0}), w, w), Error);
  EXPECT_THROW(NormalizeRows(ctx, x, 0), Error);
  EXPECT_THROW(NormalizeRows(ctx, w), Error);
  Variable wv(w, true);
  Tape tape(ctx);
  tape.Backward(LayerNorm(ctx, Tensor::Zeros(ctx, {0, 3}), wv, w), Tensor::Zeros(ctx, {0, 3}));
  EXPECT_EQ(wv.grad().ToVector<float>(), std::vector<float>(3, 0.0f));
}

TEST_P(SimilarityTest, HasTheCpusBits) {
  const auto all = [](Context& c, const auto& v) {
    return std::vector{RowDot(c, v[0], v[1]), CosineSimilarity(c, v[0], v[1])};
  };
  ExpectCpusBits(device(), all, {{70, 50}, {70, 50}});
}

TEST_P(SimilarityTest, ValuesAndGradients) {
  Context ctx({.device = device(), .seed = 8});
  const Tensor q = RandomTensor(ctx, {70, 4}), c = RandomTensor(ctx, {70, 4});
  const std::vector<float> qs = q.ToVector<float>(), cs = c.ToVector<float>(),
                           dot = RowDot(ctx, q, c).value().ToVector<float>(),
                           cosine = CosineSimilarity(ctx, q, c).value().ToVector<float>();
  for (size_t r = 0; r < 70; ++r) {
    double qc = 0, qq = 0, cc = 0;
    for (size_t i = r * 4; i < r * 4 + 4; ++i) {
      const double a = qs[i], b = cs[i];
      qc += a * b, qq += a * a, cc += b * b;
    }
    EXPECT_NEAR(dot[r], qc, 1e-6);
    EXPECT_NEAR(cosine[r], qc / std::sqrt(qq * cc), 1e-6);
  }
  const std::vector<Tensor> few = {RandomTensor(ctx, {3, 4}), RandomTensor(ctx, {3, 4})};
  ExpectGradient(
      ctx, [](Context& k, const auto& v) { return RowDot(k, v[0], v[1]); }, few);
  ExpectGradient(ctx, [](Context& k, const auto& v) { return CosineSimilarity(k, v[0], v[1]); },
                 few, {.step = 1.0f / 256});
  EXPECT_THROW(RowDot(ctx, q, few[0]), Error);
}

}  // namespace
}  // namespace tessera
