#include "sparse/jagged/jagged_dense.h"

#include <utility>

#include "runtime/ops/shaping.h"
#include "sparse/ops/cumsum.h"
#include "sparse/ops/segments.h"

namespace tessera {
namespace {

using Layout = std::shared_ptr<const JaggedLayout>;

class PadFunction : public Function {
 public:
  explicit PadFunction(Layout layout) : layout_(std::move(layout)) {}
  std::string_view name() const override { return "JaggedToPaddedDense"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {layout_->Unpad(ctx, grads[0])};
  }

 private:
  Layout layout_;
};

class UnpadFunction : public Function {
 public:
  explicit UnpadFunction(Layout layout) : layout_(std::move(layout)) {}
  std::string_view name() const override { return "DenseToJagged"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {layout_->Pad(ctx, grads[0])};
  }

 private:
  Layout layout_;
};

}  // namespace

Variable JaggedToPaddedDense(Context& ctx, const Variable& values,
                             const std::vector<Tensor>& offsets,
                             const std::vector<int64_t>& max_lengths, double padding_value) {
  CheckDevice(ctx, "JaggedToPaddedDense", values);
  const auto layout =
      std::make_shared<const JaggedLayout>(ctx, offsets, max_lengths, values.dim(0));
  return Record(ctx, std::make_unique<PadFunction>(layout), {values},
                layout->Pad(ctx, values, padding_value));
}

Variable DenseToJagged(Context& ctx, const Variable& dense, const std::vector<Tensor>& offsets,
                       std::optional<int64_t> rows) {
  CheckDevice(ctx, "DenseToJagged", dense);
  TESSERA_CHECK(!offsets.empty() && offsets.back().rank() == 1 && offsets.back().dim(0) > 0,
                "offsets: expected [n+1]");
  TESSERA_CHECK_GT(dense.rank(), static_cast<int>(offsets.size()),
                   "rank of a dense tensor {} with {} levels of offsets", dense.shape(),
                   offsets.size());
  std::vector<int64_t> max_lengths;
  for (size_t l = 0; l < offsets.size(); ++l)
    max_lengths.push_back(dense.dim(static_cast<int>(l) + 1));
  if (!rows)
    rows = ToInt64(offsets.back().Rows(offsets.back().dim(0) - 1, offsets.back().dim(0)))[0];
  const auto layout = std::make_shared<const JaggedLayout>(ctx, offsets, max_lengths, *rows);
  return Record(ctx, std::make_unique<UnpadFunction>(layout), {dense}, layout->Unpad(ctx, dense));
}

Variable Jagged1dToDense(Context& ctx, const Variable& values, const Tensor& offsets,
                         int64_t max_sequence_length, double padding_value) {
  TESSERA_CHECK_EQ(values.rank(), 1, "Jagged1dToDense: values {}", values.shape());
  return JaggedToPaddedDense(ctx, values, {offsets}, {max_sequence_length}, padding_value);
}

Variable Jagged2dToDense(Context& ctx, const Variable& values, const Tensor& offsets,
                         int64_t max_sequence_length) {
  TESSERA_CHECK_EQ(values.rank(), 2, "Jagged2dToDense: values {}", values.shape());
  return JaggedToPaddedDense(ctx, values, {offsets}, {max_sequence_length});
}

namespace {

std::vector<Variable> StackedToDense(Context& ctx, int rank, const Variable& values,
                                     const Tensor& lengths,
                                     const std::vector<int64_t>& offset_per_key,
                                     const std::vector<int64_t>& max_lengths_per_key,
                                     double padding_value) {
  TESSERA_CHECK_EQ(values.rank(), rank, "StackedJagged{}dToDense: values {}", rank, values.shape());
  TESSERA_CHECK_EQ(lengths.rank(), 2, "StackedJagged{}dToDense: lengths {}", rank, lengths.shape());
  const int64_t keys = lengths.dim(0);
  TESSERA_CHECK(std::ssize(offset_per_key) == keys + 1 && std::ssize(max_lengths_per_key) == keys,
                "StackedJagged{}dToDense: {} keys, {} offsets, {} longest lengths", rank, keys,
                offset_per_key.size(), max_lengths_per_key.size());
  const Tensor offsets = CompleteCumsum(ctx, lengths);  // a row a key
  std::vector<Variable> dense;
  for (int64_t t = 0; t < keys; ++t) {
    const auto key = static_cast<size_t>(t);
    const Variable rows =
        Narrow(ctx, values, 0, offset_per_key[key], offset_per_key[key + 1] - offset_per_key[key]);
    dense.push_back(JaggedToPaddedDense(ctx, rows,
                                        {offsets.Rows(t, t + 1).Reshape({lengths.dim(1) + 1})},
                                        {max_lengths_per_key[key]}, padding_value));
  }
  return dense;
}

}  // namespace

std::vector<Variable> StackedJagged1dToDense(Context& ctx, const Variable& values,
                                             const Tensor& lengths,
                                             const std::vector<int64_t>& offset_per_key,
                                             const std::vector<int64_t>& max_lengths_per_key,
                                             double padding_value) {
  return StackedToDense(ctx, 1, values, lengths, offset_per_key, max_lengths_per_key,
                        padding_value);
}

std::vector<Variable> StackedJagged2dToDense(Context& ctx, const Variable& values,
                                             const Tensor& lengths,
                                             const std::vector<int64_t>& offset_per_key,
                                             const std::vector<int64_t>& max_lengths_per_key,
                                             double padding_value) {
  return StackedToDense(ctx, 2, values, lengths, offset_per_key, max_lengths_per_key,
                        padding_value);
}

Variable PackSegments(Context& ctx, const Variable& t, const Tensor& lengths, int64_t max_length) {
  return JaggedToPaddedDense(ctx, t, {CompleteCumsum(ctx, lengths)}, {max_length});
}

}  // namespace tessera
