// Kind `metric`: values after each batch of a stream, of every task.
#include <algorithm>

#include "metrics/rec_metric_module.h"
#include "tests/conformance/kinds.h"

namespace tessera::conformance {
namespace {

std::string Name(const char* what, int64_t task) { return Format("{}{}", what, task); }

RecMetricsConfig ConfigOf(const Case& c) {
  const Json tasks = [&] {
    Json list = Json::array();
    for (int64_t t = 0; t < c.attrs.at("tasks").get<int64_t>(); ++t)
      list.push_back({{"name", Name("t", t)},
                      {"label_name", Name("label", t)},
                      {"prediction_name", Name("prediction", t)},
                      {"weight_name", c.attrs.at("weighted").get<bool>() ? Name("weight", t) : ""},
                      {"session_name", "session"}});
    return list;
  }();
  Json metric = c.attrs.at("options");
  metric["window_size"] = c.attrs.at("window_size");
  metric.erase("session_key");
  const Json config = {{"rec_tasks", tasks},
                       {"rec_metrics", {{c.attrs.at("metric").get<std::string>(), metric}}},
                       {"throughput_metric", nullptr}};
  return ParseRecMetricsConfig(config.dump(), c.path);
}

ModelOutput BatchOf(const Case& c, int64_t b) {
  const auto input = [&](const char* name) {
    const Tensor tensor = c.optional(Format("{}.{}", name, b));
    return tensor ? tensor.ToHost() : tensor;
  };
  const Tensor predictions = input("predictions"), labels = input("labels"),
               weights = input("weights"), session = input("session");
  ModelOutput output;
  for (int64_t t = 0; t < labels.dim(0); ++t) {
    output[Name("prediction", t)] = predictions.Rows(t, t + 1);
    output[Name("label", t)] = labels.Rows(t, t + 1);
    if (weights) output[Name("weight", t)] = weights.Rows(t, t + 1);
  }
  if (session) output["session"] = session;
  return output;
}

// "metric-t0|window_ne" -> task 0, "window_ne".
std::pair<size_t, std::string> TaskAndName(const std::string& key) {
  const size_t bar = key.find('|'), task = key.rfind("-t", bar) + 2;
  return {std::stoul(key.substr(task, bar - task)), key.substr(bar + 1)};
}

}  // namespace

Answer RunMetric(Context& ctx, const Case& c) {
  if (c.attrs.at("op") != "metric") throw Unsupported("op " + c.attrs["op"].get<std::string>());
  RecMetricModule module(ConfigOf(c));
  const auto batches = static_cast<int64_t>(c.attrs.at("batch_sizes").size());
  const auto tasks = c.attrs.at("tasks").get<size_t>();
  const auto example = c.attrs.at("example_key").get<std::string>();
  std::map<std::string, std::vector<double>> values;
  for (int64_t b = 0; b < batches; ++b) {
    module.Update(BatchOf(c, b));
    const MetricReport report = module.Compute();
    TESSERA_CHECK(report.contains(example), "there is no value '{}'", example);
    for (const auto& [key, value] : report) {
      const auto [task, name] = TaskAndName(key);
      auto& column = values[name];
      column.resize(static_cast<size_t>(batches) * tasks);
      column[static_cast<size_t>(b) * tasks + task] = value;
    }
  }
  // Our AUC is both TorchRec's and scikit-learn's; with ties only the latter is in the case.
  if (values.contains("window_auc")) values["sklearn_auc"] = values["window_auc"];
  if (!c.out.contains("window_auc")) values.erase("window_auc");
  Answer answer;
  for (const auto& [name, column] : values)
    answer.tensors[name] = Tensor::From(ctx, {batches, static_cast<int64_t>(tasks)}, column);
  return answer;
}

}  // namespace tessera::conformance
