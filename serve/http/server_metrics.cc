#include "serve/http/server_metrics.h"

#include <algorithm>

namespace tessera::serve {
namespace {

// A label's value: \, " and line ends escaped.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c == '\n' ? "\\n" : std::string(1, c);
  }
  return escaped;
}

std::string Head(const char* name, const char* type, const char* help) {
  return Format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

std::string TableIds(const ServedModel& model) {
  constexpr char kName[] = "tessera_table_ids_total";
  std::string text = Head(kName, "counter", "Ids that name a row of the table, or none.");
  int64_t unknown = 0;
  for (size_t t = 0; t < model.spec().tables.size(); ++t) {
    const std::string table = Escaped(model.spec().tables[t].name);
    const int64_t hits = model.counter(t).hits, misses = model.counter(t).misses;
    text += Format("{}{{table=\"{}\",result=\"hit\"}} {}\n", kName, table, hits);
    text += Format("{}{{table=\"{}\",result=\"miss\"}} {}\n", kName, table, misses);
    unknown += misses;
  }
  return text + Head("tessera_unknown_ids_total", "counter", "Ids that name no row.") +
         Format("tessera_unknown_ids_total {}\n", unknown);
}

// Counts of the items of raw rows; "" before the first row.
std::string RowItems(const ServedModel& model) {
  constexpr char kName[] = "tessera_row_items_total";
  std::string text;
  for (const FeatureItems& feature : model.raw_rows().unknown_items().All()) {
    const auto& [items, unknown] = feature.count;
    for (const auto& [result, count] : {std::pair("known", items - unknown), {"unknown", unknown}})
      text += Format("{}{{feature=\"{}\",result=\"{}\"}} {}\n", kName, Escaped(feature.feature),
                     result, count);
  }
  if (text.empty()) return text;
  return Head(kName, "counter", "Items of raw rows that have an id of their own, or none.") + text;
}

}  // namespace

void ServerMetrics::CountRequest(int code, double seconds, int64_t examples) {
  const auto bucket = std::lower_bound(kSeconds.begin(), kSeconds.end(), seconds);
  const std::lock_guard lock(mutex_);
  ++by_code_[code];
  ++buckets_[static_cast<size_t>(bucket - kSeconds.begin())];
  seconds_ += seconds;
  examples_ += examples;
}

void ServerMetrics::CountReload(bool ok) {
  const std::lock_guard lock(mutex_);
  ++(ok ? reloads_ : failed_reloads_);
}

std::string ServerMetrics::Text(const ServedModel& model, size_t queued,
                                const DeltaCounts& deltas) const {
  const std::lock_guard lock(mutex_);
  std::string text = Head("tessera_requests_total", "counter", "Answered inference requests.");
  for (const auto& [code, count] : by_code_)
    text += Format("tessera_requests_total{{code=\"{}\"}} {}\n", code, count);
  text += Head("tessera_request_seconds", "histogram", "From a request to its answer.");
  int64_t count = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    count += buckets_[i];
    const std::string end = i < kSeconds.size() ? Format("{}", kSeconds[i]) : "+Inf";
    text += Format("tessera_request_seconds_bucket{{le=\"{}\"}} {}\n", end, count);
  }
  text +=
      Format("tessera_request_seconds_sum {}\ntessera_request_seconds_count {}\n", seconds_, count);
  text += Head("tessera_examples_total", "counter", "Examples scored.") +
          Format("tessera_examples_total {}\n", examples_) + TableIds(model) + RowItems(model) +
          Head("tessera_queued_requests", "gauge", "Requests that wait for their batch.") +
          Format("tessera_queued_requests {}\n", queued) +
          Head("tessera_model_reloads_total", "counter", "Times that a model was loaded anew.") +
          Format("tessera_model_reloads_total{{result=\"ok\"}} {}\n", reloads_) +
          Format("tessera_model_reloads_total{{result=\"error\"}} {}\n", failed_reloads_) +
          Head("tessera_model_deltas_total", "counter", "Deltas taken; times one was refused.") +
          Format("tessera_model_deltas_total{{result=\"ok\"}} {}\n", deltas.taken) +
          Format("tessera_model_deltas_total{{result=\"error\"}} {}\n", deltas.failed) +
          Head("tessera_model_version", "gauge", "Version of the model in use.") +
          Format("tessera_model_version {}\n", model.spec().version) +
          Head("tessera_model_newest_version_seen", "gauge",
               "The newest version of which there is a file, taken or not.") +
          Format("tessera_model_newest_version_seen {}\n", deltas.newest_version_seen);
  return text;
}

}  // namespace tessera::serve
