#include "serve/http/server_metrics.h"

#include <algorithm>
#include <chrono>

#include "runtime/base/process_memory.h"

namespace tessera::serve {
namespace {

constexpr char kModel[] = "model";

void AddTableIds(const std::vector<ModelState>& models, MetricsText& text) {
  text.Begin("tessera_table_ids_total", "counter", "Ids that name a row of the table, or none.");
  std::vector<int64_t> unknown(models.size());
  for (size_t m = 0; m < models.size(); ++m) {
    const ServedModel& model = *models[m].current;  // all versions count together
    for (size_t t = 0; t < model.spec().tables.size(); ++t) {
      const std::string& table = model.spec().tables[t].name;
      const int64_t hits = model.counter(t).hits, misses = model.counter(t).misses;
      const auto labels = [&](const char* result) -> MetricLabels {
        return {{kModel, models[m].name}, {"table", table}, {"result", result}};
      };
      text.Sample(labels("hit"), hits);
      text.Sample(labels("miss"), misses);
      unknown[m] += misses;
    }
  }
  text.Begin("tessera_unknown_ids_total", "counter", "Ids that name no row.");
  for (size_t m = 0; m < models.size(); ++m) text.Sample({{kModel, models[m].name}}, unknown[m]);
}

// fn(labels, model) for each version that is served.
template <typename Fn>
void ForEachServed(const std::vector<ModelState>& models, Fn fn) {
  for (const ModelState& state : models)
    for (const auto& model : state.versions)
      fn(MetricLabels{{kModel, state.name}, {"version", std::to_string(model->spec().version)}},
         *model);
}

// Nothing before the first row.
void AddRowItems(const std::vector<ModelState>& models, MetricsText& text) {
  text.Begin("tessera_row_items_total", "counter",
             "Items of raw rows that have an id of their own, or none.");
  ForEachServed(models, [&](MetricLabels labels, const ServedModel& model) {
    labels.insert(labels.end(), {{"feature", ""}, {"result", ""}});
    for (const FeatureItems& feature : model.raw_rows().unknown_items().All()) {
      const auto& [items, unknown] = feature.count;
      labels[2].second = feature.feature;
      for (const auto& [result, count] :
           {std::pair("known", items - unknown), {"unknown", unknown}}) {
        labels[3].second = result;
        text.Sample(labels, count);
      }
    }
  });
}

// One sample for each model.
template <typename Value>
void AddOfModels(const std::vector<ModelState>& models, const char* metric, const char* type,
                 const char* help, Value value, MetricsText& text) {
  text.Begin(metric, type, help);
  for (const ModelState& state : models) text.Sample({{kModel, state.name}}, value(state));
}

void AddVersions(const std::vector<ModelState>& models, MetricsText& text) {
  text.Begin("tessera_model_reloads_total", "counter", "Times that a model was loaded anew.");
  for (const ModelState& state : models) {
    text.Sample({{kModel, state.name}, {"result", "ok"}}, state.loads.good);
    text.Sample({{kModel, state.name}, {"result", "error"}}, state.loads.failed);
  }
  AddOfModels(
      models, "tessera_model_version", "gauge", "Version of the model in use.",
      [](const ModelState& state) { return state.current->spec().version; }, text);
  AddOfModels(
      models, "tessera_model_newest_version_seen", "gauge",
      "The newest version of which there is a file, taken or not.",
      [](const ModelState& state) { return state.deltas.newest_version_seen; }, text);
  text.Begin("tessera_model_deltas_total", "counter", "Deltas taken; times one was refused.");
  for (const ModelState& state : models) {
    text.Sample({{kModel, state.name}, {"result", "ok"}}, state.deltas.taken);
    text.Sample({{kModel, state.name}, {"result", "error"}}, state.deltas.failed);
  }
}

// One sample for each version that is served.
template <typename Value>
void AddOfVersions(const std::vector<ModelState>& models, const char* metric, const char* help,
                   Value value, MetricsText& text) {
  text.Begin(metric, "gauge", help);
  ForEachServed(models, [&](const MetricLabels& labels, const ServedModel& model) {
    text.Sample(labels, value(model));
  });
}

void AddLoaded(const std::vector<ModelState>& models, MetricsText& text) {
  const auto now = std::chrono::system_clock::now();
  const auto seconds_since = [now](std::chrono::system_clock::time_point then) {
    return std::chrono::duration_cast<std::chrono::seconds>(now - then).count();
  };
  AddOfVersions(
      models, "tessera_model_bytes", "Bytes of the version's tables, which are mapped.",
      [](const ServedModel& model) {
        int64_t bytes = 0;
        for (const TableSpec& table : model.spec().tables) bytes += table.nbytes();
        return bytes;
      },
      text);
  AddOfVersions(
      models, "tessera_model_age_seconds", "Time since the version's newest file was written.",
      [&](const ServedModel& model) { return seconds_since(model.written()); }, text);
  AddOfVersions(
      models, "tessera_model_loaded_seconds", "Time since the version was loaded.",
      [&](const ServedModel& model) { return seconds_since(model.loaded()); }, text);
}

void AddServer(const ServerState& server, MetricsText& text) {
  text.Begin("tessera_queued_requests", "gauge", "Requests that wait for their batch.");
  text.Sample({}, server.queued);
  text.Begin("tessera_access_log_dropped_lines_total", "counter",
             "Lines of the access log that could not be written.");
  if (server.dropped_lines) text.Sample({}, *server.dropped_lines);
  text.Begin("process_resident_memory_bytes", "gauge", "Resident memory, mapped files included.");
  text.Sample({}, MemoryOfProcess().bytes);
}

}  // namespace

void ServerMetrics::AddModel(const std::string& name) {
  const std::lock_guard lock(mutex_);
  models_[name];
}

void ServerMetrics::Count(const InferenceFacts& facts) {
  if (facts.model.empty()) return;  // such a model is not there: AddErrors has the 404
  const std::lock_guard lock(mutex_);
  auto& versions = models_[facts.model].versions;
  versions[facts.version].Add(facts);
  if (versions.size() <= kMaxVersions) return;
  versions.erase(std::min_element(
      versions.begin(), versions.end(),
      [](const auto& a, const auto& b) { return a.second.last_ms < b.second.last_ms; }));
}

void ServerMetrics::CountShadow(const std::string& model, const ShadowCounts& counts) {
  const std::lock_guard lock(mutex_);
  models_[model].shadow.Add(counts);
}

void ServerMetrics::CountError(int status) {
  const std::lock_guard lock(mutex_);
  ++errors_[status];
}

void ServerMetrics::CountStrayIds(const std::string& model, const IdRanges& ranges,
                                  const StrayIds& strays) {
  if (!strays.first) return;
  const std::lock_guard lock(mutex_);
  auto& counts = models_[model].stray_ids;
  for (size_t f = 0; f < strays.counts.size(); ++f)
    if (strays.counts[f] > 0) counts[ranges.features()[f]] += strays.counts[f];
}

VersionCounts ServerMetrics::CountsOf(const std::string& model, int64_t version) const {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(model);
  if (found == models_.end()) return {};
  const auto counts = found->second.versions.find(version);
  return counts == found->second.versions.end() ? VersionCounts() : counts->second;
}

template <typename Fn>
void ServerMetrics::ForEachVersion(Fn fn) const {
  for (const auto& [model, counts] : models_)
    for (const auto& [version, of_version] : counts.versions)
      fn(MetricLabels{{kModel, model}, {"version", version == 0 ? "" : std::to_string(version)}},
         of_version);
}

void ServerMetrics::AddErrors(MetricsText& text) const {
  text.Begin("tessera_http_errors_total", "counter", "Answers of 400 or more, on any path.");
  for (const auto& [status, count] : errors_)
    text.Sample({{"code", std::to_string(status)}}, count);
}

void ServerMetrics::AddInferences(MetricsText& text) const {
  text.Begin("tessera_requests_total", "counter", "Answered inference requests.");
  ForEachVersion([&](MetricLabels labels, const VersionCounts& counts) {
    labels.emplace_back("code", "");
    for (const auto& [status, count] : counts.by_status) {
      labels.back().second = std::to_string(status);
      text.Sample(labels, count);
    }
  });
  text.Begin("tessera_request_seconds", "histogram", "From a request to its answer.");
  ForEachVersion([&](const MetricLabels& labels, const VersionCounts& counts) {
    text.Sample(labels, counts.seconds);
  });
  text.Begin("tessera_stage_seconds", "histogram",
             "Stages of the requests that were answered with scores.");
  ForEachVersion([&](MetricLabels labels, const VersionCounts& counts) {
    labels.emplace_back("stage", "");
    for (size_t s = 0; s < kStages.size(); ++s) {
      labels.back().second = kStages[s];
      text.Sample(labels, counts.stages[s]);
    }
  });
  text.Begin("tessera_examples_total", "counter", "Examples scored.");
  ForEachVersion([&](const MetricLabels& labels, const VersionCounts& counts) {
    text.Sample(labels, counts.examples);
  });
  text.Begin("tessera_not_finite_scores_total", "counter", "Scores that are NaN or infinite.");
  ForEachVersion([&](const MetricLabels& labels, const VersionCounts& counts) {
    text.Sample(labels, counts.not_finite);
  });
}

void ServerMetrics::AddStrayIds(const std::vector<ModelState>& models, MetricsText& text) const {
  text.Begin("tessera_out_of_range_ids_total", "counter", "Ids of tensors that are out of range.");
  for (const ModelState& state : models) {
    const auto& counts = models_.at(state.name).stray_ids;
    for (const std::string& feature : state.current->id_ranges().features()) {
      const auto found = counts.find(feature);
      text.Sample({{kModel, state.name}, {"feature", feature}},
                  found == counts.end() ? int64_t{0} : found->second);
    }
  }
}

void ServerMetrics::AddShadows(const std::vector<ModelState>& models, MetricsText& text) const {
  // add(labels, counts) for each model that has a shadow.
  const auto each = [&](const char* name, const char* help, auto add) {
    text.Begin(name, "counter", help);
    for (const ModelState& state : models)
      if (state.shadow != 0)
        add(MetricLabels{{kModel, state.name}, {"version", std::to_string(state.shadow)}},
            models_.at(state.name).shadow);
  };
  each("tessera_shadow_requests_total", "Requests that the shadow scored, or did not.",
       [&](MetricLabels labels, const ShadowCounts& counts) {
         labels.emplace_back("result", "");
         for (const auto& [result, count] : {std::pair("ok", counts.scored),
                                             {"error", counts.failed},
                                             {"dropped", counts.dropped}}) {
           labels.back().second = result;
           text.Sample(labels, count);
         }
       });
  each("tessera_shadow_scores_total", "Scores of the shadow that were compared with answers.",
       [&](const MetricLabels& labels, const ShadowCounts& counts) {
         text.Sample(labels, counts.compared);
       });
  each("tessera_shadow_difference_total", "The sum of their absolute differences.",
       [&](const MetricLabels& labels, const ShadowCounts& counts) {
         text.Sample(labels, counts.difference);
       });
}

std::string ServerMetrics::Text(const ServerState& server) const {
  MetricsText text;
  {
    const std::lock_guard lock(mutex_);
    AddErrors(text);
    AddInferences(text);
    AddStrayIds(server.models, text);
    AddShadows(server.models, text);
  }
  AddTableIds(server.models, text);
  AddRowItems(server.models, text);
  AddVersions(server.models, text);
  AddLoaded(server.models, text);
  AddServer(server, text);
  return text.text();
}

}  // namespace tessera::serve
