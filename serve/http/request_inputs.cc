#include "serve/http/request_inputs.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "runtime/tensor.h"
#include "serve/http/inference_protocol.h"

namespace tessera::serve::internal {
namespace {

using Inputs = std::map<std::string, RequestInput>;

constexpr char kLengths[] = ".lengths", kWeights[] = ".weights";

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

// The features of a request, as they are read.
struct FeatureInputs {
  std::vector<std::string> names;
  std::vector<const RequestInput*> ids, lengths;  // lengths: null where all bags are alike
  int64_t num_ids = 0, batch = 0;
  size_t bytes = 0;  // in the request

  int64_t num_bags() const { return std::ssize(names) * batch; }
};

FeatureInputs FindFeatures(const Inputs& inputs, const std::vector<std::string>& names,
                           int64_t batch) {
  FeatureInputs features{.names = names, .ids = {}, .lengths = {}, .batch = batch};
  for (const std::string& name : names) {
    const RequestInput& ids = Find(inputs, name);
    const auto lengths = inputs.find(name + kLengths);
    CheckIntegers(name, ids);
    features.ids.push_back(&ids);
    features.lengths.push_back(lengths == inputs.end() ? nullptr : &lengths->second);
    features.num_ids += ids.shape.numel();
    features.bytes += ids.bytes.size();
    if (lengths != inputs.end()) features.bytes += lengths->second.bytes.size();
  }
  return features;
}

// Whether ids and offsets are kept as i32 if they fit: as i64, a large request of short numbers
// ("1,") would take several times its bytes.
bool AreNarrow(const FeatureInputs& features) {
  constexpr int64_t kMany = 1 << 16;
  const int64_t numbers = features.num_ids + features.num_bags();
  return numbers > kMany && features.num_ids <= std::numeric_limits<int32_t>::max() &&
         static_cast<uint64_t>(numbers) * sizeof(int64_t) > 2 * features.bytes;
}

// The KJT of a request's features, read one after the other into tensors of their final size, ids
// and offsets as T.
template <typename T>
class FeatureColumns {
 public:
  FeatureColumns(Context& ctx, const FeatureInputs& features)
      : features_(features),
        ids_(Tensor::Empty(ctx, {features.num_ids}, DTypeOf<T>::value)),
        offsets_(Tensor::Empty(ctx, {features.num_bags() + 1}, DTypeOf<T>::value)),
        next_id_(ids_.data<T>()),
        next_offset_(offsets_.data<T>()) {}

  // Throws NotNarrow where T is too narrow.
  KeyedJaggedTensor Read() {
    *next_offset_++ = 0;
    for (size_t f = 0; f < features_.names.size(); ++f) {
      const RequestInput& ids = *features_.ids[f];
      if (features_.lengths[f] != nullptr)
        AppendLengths(features_.names[f], ids, *features_.lengths[f]);
      else
        AppendEqualLengths(features_.names[f], ids);
      ReadElements(ids, next_id_);
      next_id_ += ids.shape.numel();
    }
    return KeyedJaggedTensor(
        {.keys = features_.names, .values = ids_, .offsets = offsets_, .stride = features_.batch});
  }

 private:
  // Reads the lengths into the place of the offsets that they become.
  void AppendLengths(const std::string& name, const RequestInput& ids,
                     const RequestInput& lengths) {
    const int64_t batch = features_.batch;
    CheckIntegers(name + kLengths, lengths);
    if (lengths.shape != Shape{batch} || ids.shape.rank() != 1)
      throw Error(Format("input {}: expected ids [N] and lengths [{}], got {} and {}", name, batch,
                         ids.shape, lengths.shape));
    ReadElements(lengths, next_offset_);
    const T* const end = next_offset_ + batch;
    int64_t left = ids.shape.numel();
    for (; next_offset_ < end && *next_offset_ >= 0 && *next_offset_ <= left; ++next_offset_) {
      left -= *next_offset_;
      *next_offset_ += next_offset_[-1];
    }
    if (next_offset_ < end || left != 0)
      throw Error(
          Format("input {}: the lengths don't add up to its {} ids", name, ids.shape.numel()));
  }
  void AppendEqualLengths(const std::string& name, const RequestInput& ids) {
    const int64_t batch = features_.batch;
    const int rank = ids.shape.rank();
    if (rank < 1 || rank > 2 || ids.shape[0] != batch)
      throw Error(Format("input {}: expected shape [{}] or [{}, L], got {}", name, batch, batch,
                         ids.shape));
    const auto length = static_cast<T>(rank == 1 ? 1 : ids.shape[1]);
    for (int64_t b = 0; b < batch; ++b, ++next_offset_) *next_offset_ = next_offset_[-1] + length;
  }

  const FeatureInputs& features_;
  const Tensor ids_, offsets_;
  T *next_id_, *next_offset_;
};

KeyedJaggedTensor ReadFeatures(Context& ctx, const FeatureInputs& features) {
  try {
    if (AreNarrow(features)) return FeatureColumns<int32_t>(ctx, features).Read();
  } catch (const NotNarrow&) {  // some id is wide
  }
  return FeatureColumns<int64_t>(ctx, features).Read();
}

// The weights of all ids, [N], feature after feature.
Tensor ReadWeights(Context& ctx, const Inputs& inputs, const FeatureInputs& features) {
  const Tensor weights = Tensor::Empty(ctx, {features.num_ids});
  float* next = weights.data<float>();
  for (size_t f = 0; f < features.names.size(); ++f) {
    const Shape& ids = features.ids[f]->shape;
    const auto given = inputs.find(features.names[f] + kWeights);
    if (given == inputs.end()) {
      std::fill_n(next, ids.numel(), 1.0f);
    } else {
      const auto& [name, input] = *given;
      if (input.dtype != DType::kF32 || input.shape != ids)
        throw Error(Format("input {}: expected FP32 {}, as the ids, got {} {}", name, ids,
                           input.dtype, input.shape));
      CheckCount(input);
      ReadElements(input, next);
    }
    next += ids.numel();
  }
  return weights;
}

void CheckNoneUnknown(const Inputs& inputs, const std::vector<std::string>& features,
                      bool weighted) {
  std::set<std::string> known = {kDenseInput};
  for (const std::string& feature : features) known.insert({feature, feature + kLengths});
  if (weighted)
    for (const std::string& feature : features) known.insert(feature + kWeights);
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

// The examples of a request without dense values, as its first feature has them.
int64_t BatchOf(const Inputs& inputs, const std::string& feature) {
  const auto lengths = inputs.find(feature + kLengths);
  const RequestInput& input = lengths == inputs.end() ? Find(inputs, feature) : lengths->second;
  if (input.shape.rank() == 0) throw Error(Format("input {}: expected a shape", feature));
  return input.shape[0];
}

// A model without dense values need not be sent any.
Tensor DenseOf(Context& ctx, const Inputs& inputs, const std::vector<std::string>& features,
               int64_t dense_in) {
  if (dense_in > 0 || features.empty() || inputs.contains(kDenseInput))
    return ReadDense(ctx, Find(inputs, kDenseInput), dense_in);
  return Tensor::Empty(ctx, {BatchOf(inputs, features[0]), 0});
}

}  // namespace

PredictRequest RequestOf(const Inputs& inputs, const ModelSpec& spec) {
  const std::vector<std::string> features = spec.Features();
  CheckNoneUnknown(inputs, features, spec.net.weighted);
  Context ctx({.threads = 1});
  PredictRequest request{.dense = DenseOf(ctx, inputs, features, spec.net.dense_in),
                         .features = {}};
  if (features.empty()) return request;
  const FeatureInputs found = FindFeatures(inputs, features, request.size());
  request.features = ReadFeatures(ctx, found);
  if (spec.net.weighted)
    request.features = request.features.WithWeights(ReadWeights(ctx, inputs, found));
  return request;
}

}  // namespace tessera::serve::internal
