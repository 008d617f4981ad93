#include "serve/http/request_inputs.h"

#include <algorithm>
#include <set>
#include <vector>

#include "serve/http/inference_protocol.h"

namespace tessera::serve::internal {
namespace {

using Inputs = std::map<std::string, RequestInput>;

constexpr char kLengths[] = ".lengths";

const RequestInput& Find(const Inputs& inputs, const std::string& name) {
  const auto found = inputs.find(name);
  if (found == inputs.end()) throw Error(Format("input {} is missing", name));
  return found->second;
}

void CheckIntegers(const std::string& name, const RequestInput& input) {
  if (input.dtype != DType::kI32 && input.dtype != DType::kI64)
    throw Error(Format("input {}: expected INT64 or INT32, got {}", name, input.dtype));
  CheckCount(input);
}

// The KJT of a model's features, read one after the other into tensors of their final size.
class FeatureColumns {
 public:
  FeatureColumns(Context& ctx, const Inputs& inputs, const std::vector<std::string>& features,
                 int64_t batch)
      : batch_(batch) {
    int64_t ids = 0;
    for (const std::string& name : features) {
      const RequestInput& input = Find(inputs, name);
      CheckIntegers(name, input);
      ids += input.shape.numel();
    }
    ids_ = Tensor::Empty(ctx, {ids}, DType::kI64);
    lengths_ = Tensor::Empty(ctx, {std::ssize(features) * batch}, DType::kI64);
  }

  void Append(const std::string& name, const RequestInput& ids, const RequestInput* lengths) {
    if (lengths != nullptr)
      AppendLengths(name, ids, *lengths);
    else
      AppendEqualLengths(name, ids);
    ReadElements(ids, ids_.data<int64_t>() + next_id_);
    next_id_ += ids.shape.numel();
    next_length_ += batch_;
  }

  KeyedJaggedTensor Kjt(std::vector<std::string> names) const {
    return KeyedJaggedTensor(
        {.keys = std::move(names), .values = ids_, .lengths = lengths_, .stride = batch_});
  }

 private:
  int64_t* NextLengths() const { return lengths_.data<int64_t>() + next_length_; }

  void AppendLengths(const std::string& name, const RequestInput& ids,
                     const RequestInput& lengths) const {
    CheckIntegers(name + kLengths, lengths);
    if (lengths.shape != Shape{batch_} || ids.shape.rank() != 1)
      throw Error(Format("input {}: expected ids [N] and lengths [{}], got {} and {}", name, batch_,
                         ids.shape, lengths.shape));
    ReadElements(lengths, NextLengths());
    int64_t left = ids.shape.numel();
    for (int64_t b = 0; b < batch_ && left >= 0; ++b) {
      const int64_t length = NextLengths()[b];
      left = length < 0 || length > left ? -1 : left - length;
    }
    if (left != 0)
      throw Error(
          Format("input {}: the lengths don't add up to its {} ids", name, ids.shape.numel()));
  }
  void AppendEqualLengths(const std::string& name, const RequestInput& ids) const {
    const int rank = ids.shape.rank();
    if (rank < 1 || rank > 2 || ids.shape[0] != batch_)
      throw Error(Format("input {}: expected shape [{}] or [{}, L], got {}", name, batch_, batch_,
                         ids.shape));
    std::fill_n(NextLengths(), batch_, rank == 1 ? 1 : ids.shape[1]);
  }

  const int64_t batch_;
  Tensor ids_, lengths_;
  int64_t next_id_ = 0, next_length_ = 0;
};

void CheckNoneUnknown(const Inputs& inputs, const std::vector<std::string>& features) {
  std::set<std::string> known = {kDenseInput};
  for (const std::string& feature : features) known.insert({feature, feature + kLengths});
  for (const auto& [name, input] : inputs)
    if (known.count(name) == 0)
      throw Error(Format("input '{}': the model has no such input", name.substr(0, 100)));
}

Tensor ReadDense(Context& ctx, const RequestInput& input, int64_t dense_in) {
  if (input.dtype != DType::kF32 || input.shape.rank() != 2 || input.shape[1] != dense_in)
    throw Error(Format("input {}: expected FP32 [B, {}], got {} {}", kDenseInput, dense_in,
                       input.dtype, input.shape));
  CheckCount(input);
  const Tensor dense = Tensor::Empty(ctx, input.shape);
  ReadElements(input, dense.data<float>());
  return dense;
}

}  // namespace

PredictRequest RequestOf(const Inputs& inputs, const ModelSpec& spec) {
  const std::vector<std::string> features = spec.Features();
  CheckNoneUnknown(inputs, features);
  Context ctx({.threads = 1});
  PredictRequest request{.dense = ReadDense(ctx, Find(inputs, kDenseInput), spec.net.dense_in),
                         .features = {}};
  if (features.empty()) return request;
  FeatureColumns columns(ctx, inputs, features, request.size());
  for (const std::string& feature : features) {
    const auto lengths = inputs.find(feature + kLengths);
    columns.Append(feature, Find(inputs, feature),
                   lengths == inputs.end() ? nullptr : &lengths->second);
  }
  request.features = columns.Kjt(features);
  return request;
}

}  // namespace tessera::serve::internal
