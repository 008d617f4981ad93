#ifndef TESSERA_SERVE_HTTP_SERVER_METRICS_H_
#define TESSERA_SERVE_HTTP_SERVER_METRICS_H_
// Counters of a server, as Prometheus reads them (text format 0.0.4). Any thread may count.
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
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "serve/predictor.h"

namespace tessera::serve {

class ServerMetrics {
 public:
  void CountRequest(int code, double seconds, int64_t examples);
  void CountReload(bool ok);

  std::string Text(const ServedModel& model, size_t queued, const DeltaCounts& deltas) const;

 private:
  // Upper ends of the histogram's buckets; one more has no end.
  static constexpr std::array kSeconds = {50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3,
                                          10e-3, 20e-3,  50e-3,  0.1,    0.2,  0.5,  1.0};

  mutable std::mutex mutex_;  // of what follows
  std::map<int, int64_t> by_code_;
  std::array<int64_t, kSeconds.size() + 1> buckets_ = {};
  double seconds_ = 0;
  int64_t examples_ = 0, reloads_ = 0, failed_reloads_ = 0;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_SERVER_METRICS_H_
