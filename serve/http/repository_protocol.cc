#include "serve/http/repository_protocol.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/joined.h"
#include "runtime/json/json_reader.h"
#include "serve/http/inference_protocol.h"

namespace tessera::serve {
namespace {

using tessera::internal::Dismantled;
using tessera::internal::Json;
using tessera::internal::JsonObject;

constexpr size_t kMaxValues = 100;  // of a request's JSON

std::string CountJson(int64_t count, double seconds) {
  return Format(R"({{"count":{},"ns":{}}})", count, std::llround(seconds * 1e9));
}
std::string CountJson(const CountedTime& time) { return CountJson(time.count, time.seconds); }
std::string CountJson(const Histogram& times) { return CountJson(times.count(), times.sum()); }

// Dims are those of one example.
std::string TensorConfig(const std::string& name, const char* type, int64_t dim) {
  return Format(R"({{"name":{},"data_type":"TYPE_{}","dims":[{}]}})", QuotedJson(name), type, dim);
}

// Whether a request for the index asks for what is served alone.
bool AsksForReady(std::string_view body) {
  if (body.empty()) return false;
  Json json = tessera::internal::ReadJsonText(body, {.values = kMaxValues});
  const Dismantled guard(json);
  JsonObject request(json, "");
  bool ready = false;
  request.Optional("ready", ready);
  request.Finish();
  return ready;
}

}  // namespace

std::vector<int64_t> ServedNumbers(const ModelVersions& model) {
  std::vector<int64_t> numbers;
  for (const ServedVersion& version : model.versions())
    numbers.push_back(version.predictor->model()->spec().version);
  return numbers;
}

std::string IndexJson(const std::map<std::string, ModelVersions*>& models, std::string_view body) {
  const bool ready = AsksForReady(body);
  std::string text;
  const auto add = [&](const std::string& model, int64_t version, const char* state,
                       const char* reason) {
    text += Format(R"({}{{"name":{},"version":"{}","state":"{}","reason":"{}"}})",
                   text.empty() ? "" : ",", QuotedJson(model), version, state, reason);
  };
  for (const auto& [name, model] : models) {
    const std::vector<ServedVersion> served = model->versions();
    for (const ServedVersion& version : served) {
      const auto here = version.predictor->model();
      if (here->FileFailure().empty())
        add(name, here->spec().version, "READY", "");
      else if (!ready)
        add(name, here->spec().version, "UNAVAILABLE", "its files were cut");
    }
    if (ready) continue;
    for (const BadVersion& bad : model->bad_versions())
      if (std::ranges::find(served, bad.number, &ServedVersion::number) == served.end())
        add(name, bad.number, "UNAVAILABLE", "it cannot be loaded: the server's log says why");
  }
  return "[" + text + "]";
}

std::string ModelConfigJson(const std::string& model, const ModelSpec& spec,
                            const RequestQueueOptions& queue) {
  std::vector<std::string> inputs;
  for (const ModelInput& input : InputsOf(spec))
    inputs.push_back(TensorConfig(input.name, input.datatype, input.columns));
  std::string outputs;
  for (const std::string& name : spec.Outputs())
    outputs += (outputs.empty() ? "" : ",") + TensorConfig(name, "FP32", 1);
  return Format(R"({{"name":{},"platform":"tessera_{}","backend":"tessera","max_batch_size":{},)"
                R"("input":[{}],"output":[{}],"instance_group":[{{"kind":"KIND_CPU","count":{}}}],)"
                R"("dynamic_batching":{{"max_queue_delay_microseconds":{}}}}})",
                QuotedJson(model), ToString(spec.net.type), queue.max_batch,
                tessera::internal::Joined(inputs, ","), outputs, queue.workers,
                queue.max_wait.count());
}

std::string StatisticsJson(const std::vector<VersionStatistics>& versions) {
  constexpr const char* kOfStages[kStages.size()] = {"compute_input", "queue", "compute_infer",
                                                     "compute_output"};
  std::string text;
  for (const auto& [model, version, counts] : versions) {
    std::string stages;
    for (size_t s = 0; s < kStages.size(); ++s)
      stages += Format(R"(,"{}":{})", kOfStages[s], CountJson(counts.stages[s]));
    text +=
        Format(R"({}{{"name":{},"version":"{}","last_inference":{},"inference_count":{},)"
               R"("execution_count":{},"inference_stats":{{"success":{},"fail":{}{}}},)"
               R"("batch_stats":[]}})",
               text.empty() ? "" : ",", QuotedJson(model), version, counts.last_ms, counts.examples,
               counts.batches, CountJson(counts.succeeded), CountJson(counts.failed), stages);
  }
  return R"({"model_stats":[)" + text + "]}";
}

LoadRequest ParseLoad(std::string_view body) {
  LoadRequest load;
  if (body.empty()) return load;
  Json json = tessera::internal::ReadJsonText(body, {.values = kMaxValues});
  const Dismantled guard(json);
  JsonObject request(json, "");
  if (const Json* found = request.Find("parameters")) {
    JsonObject parameters(*found, "parameters");
    parameters.Optional("new_inputs", load.new_inputs);
    parameters.Finish();
  }
  request.Finish();
  return load;
}

std::string TakenDeltasJson(int64_t taken, int64_t version) {
  return Format(R"({{"taken":{},"model_version":"{}"}})", taken, version);
}

}  // namespace tessera::serve
