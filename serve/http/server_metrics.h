#ifndef TESSERA_SERVE_HTTP_SERVER_METRICS_H_
#define TESSERA_SERVE_HTTP_SERVER_METRICS_H_
// Counters of a server, as Prometheus reads them (text format 0.0.4), and of which Triton's
// statistics are made. Any thread may count. All but those of the process have the label model,
// those of inferences version, too. An inference that names a model that is not there counts among
// the errors alone.
//
//   tessera_http_errors_total{code="413"}         answers of 400 or more on any path, without the
//                                                 label model: requests that were refused before
//                                                 an inference began (no HTTP, too large, too late,
//                                                 a bad encoding, no room), other paths, and
//                                                 inferences that failed, which
//                                                 tessera_requests_total has by model
//   tessera_requests_total{code="200"}            answered inference requests
//   tessera_request_seconds                       histogram: from the request's head to its answer
//   tessera_stage_seconds{stage="read"|"queue"|"compute"|"write"}   histogram of requests that were
//                                                 answered with scores: their stages, of
//                                                 inference_facts.h
//   tessera_examples_total                        in requests answered with 200
//   tessera_not_finite_scores_total               scores that are NaN or infinite
//   tessera_table_ids_total{table="t",result="hit"|"miss"}   ids that name a row, or none
//   tessera_unknown_ids_total                     the misses of all tables
//   tessera_row_items_total{feature="f",result="known"|"unknown"}   items of raw rows that have an
//                                                 id of their own, or none (unknown_items.h)
//   tessera_out_of_range_ids_total{feature="f"}   ids of tensors that are out of range
//   tessera_shadow_requests_total{version="5",result="ok"|"error"|"dropped"}   requests that the
//                                                 shadow scored, could not score, or was not given
//                                                 while many waited
//   tessera_shadow_scores_total{version="5"}, tessera_shadow_difference_total{version="5"}   its
//                                                 scores that were compared with answers, and the
//                                                 sum of their absolute differences
//   tessera_queued_requests                       that wait for their batch
//   tessera_model_reloads_total{result="ok"|"error"}, tessera_model_version,
//   tessera_model_newest_version_seen
//   tessera_model_deltas_total{result="ok"|"error"}   that were taken; times that one was refused
//   tessera_model_bytes, tessera_model_age_seconds, tessera_model_loaded_seconds   of a version:
//                                                 its tables, mapped; the time since its newest
//                                                 file was written; since it was loaded
//   tessera_access_log_dropped_lines_total        without a label, as is the next one
//   process_resident_memory_bytes                 as other programs call it
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/http/metrics_text.h"
#include "serve/http/version_counts.h"
#include "serve/predictor.h"
#include "serve/versions/model_versions.h"

namespace tessera::serve {

// A model that is served, as it is now.
struct ModelState {
  std::string name;
  std::shared_ptr<const ServedModel> current;  // answers where no version is named
  std::vector<std::shared_ptr<const ServedModel>> versions;
  int64_t shadow = 0;  // the version; 0: none
  DeltaCounts deltas;
  LoadCounts loads;
};

struct ServerState {
  std::vector<ModelState> models;
  size_t queued = 0;                          // requests
  std::optional<int64_t> dropped_lines = {};  // of the access log, if there is one
};

class ServerMetrics {
 public:
  // Shows the counts of a model from its first moment on, as zeros.
  void AddModel(const std::string& name);
  // model: "" for one that is not there.
  void Count(const InferenceFacts& facts);
  void CountShadow(const std::string& model, const ShadowCounts& counts);
  // An answer of 400 or more.
  void CountError(int status);

  // Adds the counts of a request.
  void CountStrayIds(const std::string& model, const IdRanges& ranges, const StrayIds& strays);

  // Counts of one version of a model; zeros where it answered nothing.
  VersionCounts CountsOf(const std::string& model, int64_t version) const;
  std::string Text(const ServerState& server) const;

 private:
  struct ModelCounts {
    // The versions that answered last, at most kMaxVersions: deltas make new ones all the time.
    std::map<int64_t, VersionCounts> versions;
    std::map<std::string, int64_t> stray_ids;  // of features that had some
    ShadowCounts shadow;
  };
  static constexpr size_t kMaxVersions = 16;

  // fn(labels, counts) for each version. REQUIRES: mutex_ is held, as by those below.
  template <typename Fn>
  void ForEachVersion(Fn fn) const;
  void AddErrors(MetricsText& text) const;
  void AddInferences(MetricsText& text) const;
  void AddStrayIds(const std::vector<ModelState>& models, MetricsText& text) const;
  void AddShadows(const std::vector<ModelState>& models, MetricsText& text) const;

  mutable std::mutex mutex_;  // of what follows
  std::map<std::string, ModelCounts> models_;
  // By status. Those that the server has are there from the first moment on, as zeros.
  std::map<int, int64_t> errors_ = {{400, 0}, {403, 0}, {404, 0}, {405, 0}, {408, 0}, {413, 0},
                                    {415, 0}, {417, 0}, {431, 0}, {500, 0}, {503, 0}, {504, 0}};
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_SERVER_METRICS_H_
