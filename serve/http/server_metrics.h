#ifndef TESSERA_SERVE_HTTP_SERVER_METRICS_H_
#define TESSERA_SERVE_HTTP_SERVER_METRICS_H_
// Counters of a server, as Prometheus reads them (text format 0.0.4), and of which Triton's
// statistics are made. Any thread may count. All but tessera_queued_requests have the label model,
// those of inferences version, too: an inference that names no model there is has both empty.
//
//   tessera_requests_total{code="200"}            answered inference requests
//   tessera_request_seconds                       histogram: from the request's head to its answer
//   tessera_examples_total                        in requests answered with 200
//   tessera_table_ids_total{table="t",result="hit"|"miss"}   ids that name a row, or none
//   tessera_unknown_ids_total                     the misses of all tables
//   tessera_row_items_total{feature="f",result="known"|"unknown"}   items of raw rows that have an
//                                                 id of their own, or none (unknown_items.h)
//   tessera_queued_requests                       that wait for their batch
//   tessera_model_reloads_total{result="ok"|"error"}, tessera_model_version,
//   tessera_model_newest_version_seen
//   tessera_model_deltas_total{result="ok"|"error"}   that were taken; times that one was refused
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/http/metrics_text.h"
#include "serve/http/version_counts.h"
#include "serve/predictor.h"

namespace tessera::serve {

// A model that is served, as it is now.
struct ModelState {
  std::string name;
  std::shared_ptr<const ServedModel> model;
  DeltaCounts deltas;
};

class ServerMetrics {
 public:
  // Shows the counts of a model from its first moment on, as zeros.
  void AddModel(const std::string& name);
  void Count(const InferenceFacts& facts);
  // model: "" for one that is not there.
  void CountReload(const std::string& model, bool ok);

  // Counts of one version of a model; zeros where it answered nothing.
  VersionCounts CountsOf(const std::string& model, int64_t version) const;
  std::string Text(const std::vector<ModelState>& models, size_t queued) const;

 private:
  struct ModelCounts {
    // The versions that answered last, at most kMostVersions: deltas make new ones all the time.
    std::map<int64_t, VersionCounts> versions;
    int64_t reloads = 0, failed_reloads = 0;
  };
  static constexpr size_t kMostVersions = 16;

  // fn(labels, counts) for each version. REQUIRES: mutex_ is held, as by the two below.
  template <typename Fn>
  void ForEachVersion(Fn fn) const;
  void AddInferences(MetricsText& text) const;
  void AddReloads(MetricsText& text) const;

  mutable std::mutex mutex_;  // of what follows
  std::map<std::string, ModelCounts> models_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_SERVER_METRICS_H_
