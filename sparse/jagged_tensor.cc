#include "sparse/jagged_tensor.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/ops/shaping.h"
#include "sparse/jagged/jagged_dense.h"
#include "sparse/ops/cumsum.h"
#include "sparse/ops/offsets_check.h"
#include "sparse/ops/packed_copy.h"
#include "sparse/ops/segments.h"
#include "sparse/python_text.h"

namespace tessera {
namespace {

const Tensor& NoLengths() {
  static int32_t zero = 0;
  static const Tensor none = Tensor::Borrow(&zero, {0}, DType::kI32);
  return none;
}

Tensor NoValues() {
  static float zero = 0;
  return Tensor::Borrow(&zero, {0}, DType::kF32);
}

Variable JoinBags(Context& ctx, const std::vector<Variable>& bags,
                  const std::vector<Variable>& like) {
  if (bags.empty()) return {};
  if (bags.size() != like.size())
    throw Error(Format("JaggedTensor::FromDense: {} tensors of weights for {} of values",
                       bags.size(), like.size()));
  for (size_t i = 0; i < bags.size(); ++i)
    if (bags[i].shape() != Shape{like[i].dim(0)})
      throw Error(
          Format("JaggedTensor::FromDense: weights {} of bag {}; expected [{}], one a value",
                 bags[i].shape(), i, like[i].dim(0)));
  return Concat(ctx, bags, 0);
}

}  // namespace

JaggedTensor::JaggedTensor() : JaggedTensor(State{NoValues(), {}, NoLengths(), {}}) {}

JaggedTensor::JaggedTensor(Variable values, Tensor lengths, Tensor offsets, Variable weights)
    : state_(std::make_shared<State>()) {
  TESSERA_CHECK(values.defined() && values.rank() >= 1, "JaggedTensor: no values");
  const int64_t bags[] = {0, CheckedBags(lengths, offsets, "JaggedTensor")};
  CheckOneDevice("JaggedTensor", values, lengths, offsets, weights);
  if (values.value().device() == Device::Cpu())
    CheckedTotals({lengths, offsets, bags, values.dim(0), "JaggedTensor",
                   [](int64_t) { return std::string(); }});
  if (weights.defined() && weights.shape() != Shape{values.dim(0)})
    throw Error(Format("JaggedTensor: weights {}; expected [{}], one a value", weights.shape(),
                       values.dim(0)));
  *state_ = {std::move(values), std::move(weights), std::move(lengths), std::move(offsets)};
}

JaggedTensor JaggedTensor::Empty(Context& ctx, bool is_weighted, DType values_dtype,
                                 DType weights_dtype, DType lengths_dtype) {
  const Variable weights =
      is_weighted ? Variable(Tensor::Empty(ctx, {0}, weights_dtype)) : Variable();
  return JaggedTensor(Tensor::Empty(ctx, {0}, values_dtype), Tensor::Empty(ctx, {0}, lengths_dtype),
                      {}, weights);
}

JaggedTensor JaggedTensor::FromDense(Context& ctx, const std::vector<Variable>& values,
                                     const std::vector<Variable>& weights) {
  TESSERA_CHECK(!values.empty(), "JaggedTensor::FromDense: no tensors");
  std::vector<int32_t> lengths;
  for (const Variable& bag : values) lengths.push_back(static_cast<int32_t>(bag.dim(0)));
  return JaggedTensor(Concat(ctx, values, 0), Tensor::From(ctx, lengths), {},
                      JoinBags(ctx, weights, values));
}

JaggedTensor JaggedTensor::FromDenseLengths(Context& ctx, const Variable& values,
                                            const Tensor& lengths, const Variable& weights) {
  TESSERA_CHECK_GE(values.rank(), 2, "JaggedTensor::FromDenseLengths: values {}", values.shape());
  TESSERA_CHECK_EQ(lengths.rank(), 1, "JaggedTensor::FromDenseLengths: lengths {}",
                   lengths.shape());
  TESSERA_CHECK_EQ(lengths.dim(0), values.dim(0),
                   "JaggedTensor::FromDenseLengths: lengths and rows of values");
  if (weights.defined())
    TESSERA_CHECK_EQ(weights.shape(), (Shape{values.dim(0), values.dim(1)}),
                     "JaggedTensor::FromDenseLengths: weights");
  const Segments segments = SegmentsOfLengths(ctx, lengths, values.dim(1));
  const auto jagged = [&](const Variable& dense) {
    return DenseToJagged(ctx, dense, {segments.offsets}, segments.rows);
  };
  return JaggedTensor(State{jagged(values), weights.defined() ? jagged(weights) : Variable(),
                            lengths.Contiguous(ctx), segments.offsets.To(ctx, lengths.dtype())});
}

const Variable& JaggedTensor::weights() const {
  TESSERA_CHECK(is_weighted(), "JaggedTensor: it has no weights");
  return state_->weights;
}

const Tensor& JaggedTensor::lengths(Context& ctx) const {
  if (!state_->lengths.defined()) state_->lengths = LengthsFromOffsets(ctx, state_->offsets);
  return state_->lengths;
}

const Tensor& JaggedTensor::offsets(Context& ctx) const {
  if (!state_->offsets.defined()) state_->offsets = CompleteCumsum(ctx, state_->lengths);
  return state_->offsets;
}

int64_t JaggedTensor::batch_size() const {
  return state_->lengths.defined() ? state_->lengths.dim(0) : state_->offsets.dim(0) - 1;
}

JaggedTensor JaggedTensor::To(Context& ctx, Device device) const {
  if (values().value().device() == device) return *this;
  const std::vector<Tensor> moved = MovedTogether(
      ctx, {values(), weights_or_none(), lengths_or_none(), offsets_or_none()}, device);
  return JaggedTensor(
      State{moved[0], is_weighted() ? Variable(moved[1]) : Variable(), moved[2], moved[3]});
}

std::vector<int64_t> JaggedTensor::HostLengths(Context& ctx) const { return ToInt64(lengths(ctx)); }

std::vector<Variable> JaggedTensor::ToDense(Context& ctx) const {
  return batch_size() == 0 ? std::vector<Variable>() : Split(ctx, values(), 0, HostLengths(ctx));
}

std::vector<Variable> JaggedTensor::ToDenseWeights(Context& ctx) const {
  return batch_size() == 0 ? std::vector<Variable>() : Split(ctx, weights(), 0, HostLengths(ctx));
}

Variable JaggedTensor::Padded(Context& ctx, const Variable& data,
                              std::optional<int64_t> desired_length, double padding_value) const {
  if (!desired_length) {
    const std::vector<int64_t> host = HostLengths(ctx);
    desired_length = host.empty() ? 0 : *std::max_element(host.begin(), host.end());
  }
  return JaggedToPaddedDense(ctx, data, {offsets(ctx)}, {*desired_length}, padding_value);
}

Variable JaggedTensor::ToPaddedDense(Context& ctx, std::optional<int64_t> desired_length,
                                     double padding_value) const {
  return Padded(ctx, values(), desired_length, padding_value);
}

Variable JaggedTensor::ToPaddedDenseWeights(Context& ctx, std::optional<int64_t> desired_length,
                                            double padding_value) const {
  return Padded(ctx, weights(), desired_length, padding_value);
}

std::string ToString(Context& ctx, const JaggedTensor& jt) {
  const std::string values = PythonBags(jt.values(), jt.lengths(ctx));
  if (!jt.is_weighted()) return "JaggedTensor({\n    " + values + "\n})\n";
  return "JaggedTensor({\n    \"values\": " + values +
         ",\n    \"weights\": " + PythonBags(jt.weights(), jt.lengths(ctx)) + "\n})\n";
}

bool JtIsEqual(Context& ctx, const JaggedTensor& a, const JaggedTensor& b) {
  const auto same = [&ctx](const Tensor& x, const Tensor& y) {
    return SameBits(x.Contiguous(ctx), y.Contiguous(ctx));
  };
  return same(a.values(), b.values()) && same(a.lengths(ctx), b.lengths(ctx)) &&
         a.is_weighted() == b.is_weighted() && (!a.is_weighted() || same(a.weights(), b.weights()));
}

}  // namespace tessera
