#include "serve/warm_up.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/files/files.h"
#include "runtime/tensor.h"
#include "serve/raw_rows.h"

namespace tessera::serve {
namespace {

// `batch` rows with one id for each feature.
PredictRequest MakeUp(const ModelSpec& spec, int64_t batch) {
  Context ctx({.threads = 1});
  std::vector<int64_t> ids;
  for (const CategoricalFeature& feature : RowFeatures(spec))
    for (int64_t row = 0; row < batch; ++row)
      ids.push_back(static_cast<int64_t>(static_cast<double>(feature.rows) *
                                         static_cast<double>(row) / static_cast<double>(batch)));
  const Tensor values = Tensor::From(ctx, ids);
  PredictRequest request{.dense = Tensor::Zeros(ctx, {batch, spec.net.dense_in}), .features = {}};
  if (ids.empty()) return request;
  request.features = KeyedJaggedTensor::FromLengthsSync(
      spec.Features(), values, Tensor::Full(ctx, values.shape(), 1, DType::kI64));
  if (spec.net.weighted)
    request.features = request.features.WithWeights(Tensor::Full(ctx, values.shape(), 1));
  return request;
}

WarmUpRequests ReadRequests(const std::string& path, const ModelSpec& spec) {
  const std::string text = ReadTextFile(path);
  const RawRows rows(spec);  // not the model's, whose counts are of clients
  const std::string_view first(text.data(), std::min(text.find('\n'), text.size()));
  return {.one = rows.Read(first, path), .many = rows.Read(text, path)};
}

}  // namespace

WarmUpRequests MakeWarmUpRequests(const WarmUp& warm_up, const ModelSpec& spec) {
  const int64_t many = std::min(warm_up.max_batch, ServedModel::kMaxTogether);
  WarmUpRequests requests = warm_up.rows_file.empty()
                                ? WarmUpRequests{.one = MakeUp(spec, 1), .many = MakeUp(spec, many)}
                                : ReadRequests(warm_up.rows_file, spec);
  requests.one.counted = requests.many.counted = false;
  return requests;
}

void RunWarmUp(const WarmUp& warm_up, const ServedModel& model) {
  if (warm_up.requests == 0) return;
  Context ctx({.threads = 1});
  const WarmUpRequests requests = MakeWarmUpRequests(warm_up, model.spec());
  const PredictRequest *const one = &requests.one, *const many = &requests.many;
  for (int i = 0; i < warm_up.requests; ++i) model.Predict(ctx, std::span(&one, 1));
  model.Predict(ctx, std::span(&many, 1));
}

}  // namespace tessera::serve
