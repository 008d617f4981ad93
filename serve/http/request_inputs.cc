#include "serve/http/request_inputs.h"

#include <algorithm>
#include <set>

#include "serve/http/inference_protocol.h"

namespace tessera::serve::internal {
namespace {

using Inputs = std::map<std::string, Tensor>;

constexpr char kLengths[] = ".lengths";

const Tensor& Find(const Inputs& inputs, const std::string& name) {
  const auto found = inputs.find(name);
  if (found == inputs.end()) throw Error(Format("input {} is missing", name));
  return found->second;
}

void CheckIntegers(const std::string& name, const Tensor& tensor) {
  if (tensor.dtype() != DType::kI32 && tensor.dtype() != DType::kI64)
    throw Error(Format("input {}: expected INT64 or INT32, got {}", name, tensor.dtype()));
}

int64_t At(const Tensor& integers, int64_t i) {
  return integers.dtype() == DType::kI64 ? integers.data<int64_t>()[i]
                                         : integers.data<int32_t>()[i];
}

// The KJT of a model's features, put together.
class FeatureColumns {
 public:
  explicit FeatureColumns(int64_t batch) : batch_(batch) {}

  void Append(const std::string& name, const Tensor& ids, const Tensor* lengths) {
    CheckIntegers(name, ids);
    if (lengths != nullptr)
      AppendLengths(name, ids, *lengths);
    else
      AppendEqualLengths(name, ids);
    for (int64_t i = 0; i < ids.numel(); ++i) ids_.push_back(At(ids, i));
  }

  KeyedJaggedTensor Kjt(Context& ctx, std::vector<std::string> names) const {
    return KeyedJaggedTensor({.keys = std::move(names),
                              .values = Tensor::From(ctx, ids_),
                              .lengths = Tensor::From(ctx, lengths_),
                              .stride = batch_});
  }

 private:
  void AppendLengths(const std::string& name, const Tensor& ids, const Tensor& lengths) {
    CheckIntegers(name + kLengths, lengths);
    if (lengths.shape() != Shape{batch_} || ids.rank() != 1)
      throw Error(Format("input {}: expected ids [N] and lengths [{}], got {} and {}", name, batch_,
                         ids.shape(), lengths.shape()));
    int64_t left = ids.numel();
    for (int64_t b = 0; b < batch_; ++b) {
      const int64_t length = At(lengths, b);
      if (length < 0 || length > left) left = -1;
      if (left < 0) break;
      left -= length;
      lengths_.push_back(length);
    }
    if (left != 0)
      throw Error(Format("input {}: the lengths don't add up to its {} ids", name, ids.numel()));
  }
  void AppendEqualLengths(const std::string& name, const Tensor& ids) {
    if (ids.rank() < 1 || ids.rank() > 2 || ids.dim(0) != batch_)
      throw Error(Format("input {}: expected shape [{}] or [{}, L], got {}", name, batch_, batch_,
                         ids.shape()));
    lengths_.insert(lengths_.end(), static_cast<size_t>(batch_), ids.rank() == 1 ? 1 : ids.dim(1));
  }

  const int64_t batch_;
  std::vector<int64_t> ids_, lengths_;
};

void CheckNoneUnknown(const Inputs& inputs, const std::vector<std::string>& features) {
  std::set<std::string> known = {kDenseInput};
  for (const std::string& feature : features) known.insert({feature, feature + kLengths});
  for (const auto& [name, tensor] : inputs)
    if (known.count(name) == 0)
      throw Error(Format("input '{}': the model has no such input", name));
}

}  // namespace

PredictRequest RequestOf(const Inputs& inputs, const ModelSpec& spec) {
  const std::vector<std::string> features = spec.Features();
  CheckNoneUnknown(inputs, features);
  const Tensor& dense = Find(inputs, kDenseInput);
  if (dense.dtype() != DType::kF32 || dense.rank() != 2 || dense.dim(1) != spec.net.dense_in)
    throw Error(Format("input {}: expected FP32 [B, {}], got {} {}", kDenseInput, spec.net.dense_in,
                       dense.dtype(), dense.shape()));
  PredictRequest request{.dense = dense, .features = {}};
  FeatureColumns columns(request.size());
  for (const std::string& feature : features) {
    const auto lengths = inputs.find(feature + kLengths);
    columns.Append(feature, Find(inputs, feature),
                   lengths == inputs.end() ? nullptr : &lengths->second);
  }
  Context ctx({.threads = 1});
  if (!features.empty()) request.features = columns.Kjt(ctx, features);
  return request;
}

}  // namespace tessera::serve::internal
