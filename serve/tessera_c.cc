#include "serve/tessera_c.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>

#include "runtime/tensor.h"
#include "serve/predictor.h"

// The predictor is made by the first load; `mutex` guards it.
struct tessera_predictor {
  explicit tessera_predictor(int threads) : options{.threads = threads, .new_inputs = true} {}

  tessera::serve::Predictor& Loaded() {
    const std::lock_guard lock(mutex);
    if (!predictor) throw tessera::Error("no model is loaded");
    return *predictor;
  }

  const tessera::serve::PredictorOptions options;
  std::mutex mutex;  // of `predictor` being there
  std::optional<tessera::serve::Predictor> predictor;
};

namespace {

using tessera::Error;
using tessera::Format;
using tessera::KeyedJaggedTensor;
using tessera::Tensor;
using tessera::serve::PredictRequest;
using tessera::serve::ServedModel;

constexpr int64_t kMaxExamples = std::numeric_limits<int32_t>::max();

thread_local std::string last_error;

// Returns fn's result, or `failed` if it throws.
template <typename T, typename Fn>
T Guarded(T failed, Fn&& fn) noexcept {
  try {
    return fn();
  } catch (const std::exception& error) {
    try {
      last_error = error.what();
    } catch (...) {
      last_error.clear();  // no memory for it
    }
  } catch (...) {
    last_error.clear();
  }
  return failed;
}

template <typename T>
T* CheckGiven(T* pointer, const char* what) {
  if (pointer == nullptr) throw Error(Format("{} is NULL", what));
  return pointer;
}

std::shared_ptr<const ServedModel> ModelOf(const tessera_predictor* predictor) {
  return const_cast<tessera_predictor*>(CheckGiven(predictor, "predictor"))->Loaded().model();
}

// Sum of the lengths, none of which is negative.
int64_t CountIds(const int64_t* lengths, int64_t count) {
  int64_t total = 0;
  for (int64_t i = 0; i < count; ++i)
    if (lengths[i] < 0 || __builtin_add_overflow(total, lengths[i], &total))
      throw Error(Format("lengths[{}] is {}", i, lengths[i]));
  return total;
}

template <typename T>
Tensor Borrow(const T* data, const tessera::Shape& shape) {
  return Tensor::Borrow(const_cast<T*>(data), shape, tessera::DTypeOf<T>::value);
}

PredictRequest MakeRequest(const ServedModel& model, int64_t batch, const float* dense,
                           const int64_t* lengths, const int64_t* ids,
                           const tessera::Variable& weights) {
  const int64_t features = std::ssize(model.features());
  if (batch < 0 || batch > kMaxExamples) throw Error(Format("batch is {}", batch));
  if (batch > 0) CheckGiven(dense, "dense");
  const int64_t bags = features * batch;
  if (bags > 0) CheckGiven(lengths, "lengths");
  const int64_t num_ids = CountIds(lengths, bags);
  if (num_ids > 0) CheckGiven(ids, "ids");
  PredictRequest request{.dense = Borrow(dense, {batch, model.spec().net.dense_in}),
                         .features = {}};
  if (features > 0)
    request.features = KeyedJaggedTensor({.keys = model.features(),
                                          .values = Borrow(ids, {num_ids}),
                                          .weights = weights,
                                          .lengths = Borrow(lengths, {bags}),
                                          .stride = batch});
  return request;
}

void CheckCount(int64_t got, int64_t expected, const char* what) {
  if (got != expected) throw Error(Format("{} is {}; expected {}", what, got, expected));
}

// Checks, before anything is read, that the arrays have as many elements as the batch needs.
void CheckSizes(const ServedModel& model, int64_t batch, const tessera_arrays& arrays) {
  if (batch < 0 || batch > kMaxExamples) throw Error(Format("batch is {}", batch));
  const int64_t bags = std::ssize(model.features()) * batch;
  CheckCount(arrays.num_dense, batch * model.spec().net.dense_in, "num_dense");
  CheckCount(arrays.num_lengths, bags, "num_lengths");
  CheckCount(arrays.num_scores, batch * std::ssize(model.outputs()), "num_scores");
  if (bags > 0) CheckGiven(arrays.lengths, "lengths");
  CheckCount(arrays.num_ids, CountIds(arrays.lengths, bags), "num_ids");
}

void Predict(tessera_predictor& predictor, const ServedModel& model, int64_t batch,
             const tessera_arrays& arrays, const tessera::Variable& weights = {}) {
  if (batch > 0) CheckGiven(arrays.scores, "scores");
  const PredictRequest request =
      MakeRequest(model, batch, arrays.dense, arrays.lengths, arrays.ids, weights);
  const PredictRequest* const one = &request;
  const std::vector<float> all = predictor.Loaded().Predict(model, std::span(&one, 1));
  std::copy(all.begin(), all.end(), arrays.scores);
}

}  // namespace

extern "C" {

int32_t tessera_c_abi_version(void) { return TESSERA_C_ABI_VERSION; }

const char* tessera_c_last_error(void) { return last_error.c_str(); }

tessera_predictor* tessera_c_create(int32_t threads) {
  return Guarded<tessera_predictor*>(nullptr, [&] {
    if (threads < 1) throw Error(Format("threads is {}", threads));
    return new tessera_predictor(threads);
  });
}

void tessera_c_destroy(tessera_predictor* predictor) { delete predictor; }

int32_t tessera_c_load(tessera_predictor* predictor, const char* directory) {
  return Guarded(-1, [&] {
    CheckGiven(predictor, "predictor");
    CheckGiven(directory, "directory");
    std::unique_lock lock(predictor->mutex);
    if (!predictor->predictor) {
      predictor->predictor.emplace(directory, predictor->options);
      return 0;
    }
    lock.unlock();
    predictor->predictor->Reload(directory);
    return 0;
  });
}

int64_t tessera_c_take_deltas(tessera_predictor* predictor) {
  return Guarded<int64_t>(
      -1, [&] { return CheckGiven(predictor, "predictor")->Loaded().TakeDeltas(); });
}

int64_t tessera_c_model_version(const tessera_predictor* predictor) {
  return Guarded<int64_t>(-1, [&] { return ModelOf(predictor)->spec().version; });
}

int64_t tessera_c_dense_size(const tessera_predictor* predictor) {
  return Guarded<int64_t>(-1, [&] { return ModelOf(predictor)->spec().net.dense_in; });
}

int64_t tessera_c_num_features(const tessera_predictor* predictor) {
  return Guarded<int64_t>(-1, [&] { return std::ssize(ModelOf(predictor)->features()); });
}

const char* tessera_c_feature_name(const tessera_predictor* predictor, int64_t feature) {
  return Guarded<const char*>(nullptr, [&] {
    const auto model = ModelOf(predictor);
    const std::vector<std::string>& names = model->features();
    if (feature < 0 || feature >= std::ssize(names))
      throw Error(Format("there are {} features, none {}", names.size(), feature));
    return names[static_cast<size_t>(feature)].c_str();
  });
}

int64_t tessera_c_num_outputs(const tessera_predictor* predictor) {
  return Guarded<int64_t>(-1, [&] { return std::ssize(ModelOf(predictor)->outputs()); });
}

const char* tessera_c_output_name(const tessera_predictor* predictor, int64_t output) {
  return Guarded<const char*>(nullptr, [&] {
    const auto model = ModelOf(predictor);
    const std::vector<std::string>& names = model->outputs();
    if (output < 0 || output >= std::ssize(names))
      throw Error(Format("there are {} outputs, none {}", names.size(), output));
    return names[static_cast<size_t>(output)].c_str();
  });
}

int32_t tessera_c_predict(tessera_predictor* predictor, int64_t batch, const float* dense,
                          const int64_t* lengths, const int64_t* ids, float* scores) {
  return Guarded(-1, [&] {
    const auto model = ModelOf(predictor);
    if (const size_t outputs = model->outputs().size(); outputs != 1)
      throw Error(
          Format("the model has {} outputs, but tessera_c_predict writes one score an "
                 "example: call tessera_c_predict_checked",
                 outputs));
    Predict(*predictor, *model, batch,
            {.dense = dense,
             .num_dense = 0,
             .lengths = lengths,
             .num_lengths = 0,
             .ids = ids,
             .num_ids = 0,
             .scores = scores,
             .num_scores = 0});
    return 0;
  });
}

int32_t tessera_c_predict_checked(tessera_predictor* predictor, int64_t batch,
                                  const tessera_arrays* arrays) {
  return Guarded(-1, [&] {
    const auto model = ModelOf(predictor);
    CheckSizes(*model, batch, *CheckGiven(arrays, "arrays"));
    Predict(*predictor, *model, batch, *arrays);
    return 0;
  });
}

int32_t tessera_c_predict_weighted(tessera_predictor* predictor, int64_t batch,
                                   const tessera_arrays* arrays, const float* weights,
                                   int64_t num_weights) {
  return Guarded(-1, [&] {
    const auto model = ModelOf(predictor);
    CheckSizes(*model, batch, *CheckGiven(arrays, "arrays"));
    CheckCount(num_weights, arrays->num_ids, "num_weights");
    if (num_weights > 0) CheckGiven(weights, "weights");
    Predict(*predictor, *model, batch, *arrays, Borrow(weights, {num_weights}));
    return 0;
  });
}

int64_t tessera_c_predict_rows(tessera_predictor* predictor, const char* lines, int64_t num_bytes,
                               float* scores, int64_t num_scores) {
  return Guarded<int64_t>(-1, [&] {
    const auto model = ModelOf(predictor);
    if (num_bytes < 0) throw Error(Format("num_bytes is {}", num_bytes));
    if (num_bytes > 0) CheckGiven(lines, "lines");
    const PredictRequest request =
        model->raw_rows().Read({lines, static_cast<size_t>(num_bytes)}, "rows");
    const int64_t needed = request.size() * std::ssize(model->outputs());
    if (num_scores < needed)
      throw Error(Format("num_scores is {}; expected at least {}", num_scores, needed));
    CheckGiven(scores, "scores");
    const PredictRequest* const one = &request;
    const std::vector<float> all = predictor->Loaded().Predict(*model, std::span(&one, 1));
    std::copy(all.begin(), all.end(), scores);
    return request.size();
  });
}

}  // extern "C"
