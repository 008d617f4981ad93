#ifndef TESSERA_SERVE_HTTP_SHADOW_TRAFFIC_H_
#define TESSERA_SERVE_HTTP_SHADOW_TRAFFIC_H_
// Requests that a shadow version scores besides the version that answers them. Its scores go to
// nobody: they are compared with the answer's, for metrics. Any thread may call.
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/http/server_metrics.h"
#include "serve/request_queue.h"

namespace tessera::serve {

// The scores of one request, by the version that answers and by the shadow.
class ShadowScores {
 public:
  // Each is called at most once; the later one returns how the scores differ.
  std::optional<ShadowCounts> AddAnswer(const std::vector<float>& scores);
  std::optional<ShadowCounts> AddShadow(const std::vector<float>& scores);

 private:
  using Scores = std::optional<std::vector<float>>;
  std::optional<ShadowCounts> Add(const std::vector<float>& scores, Scores& own,
                                  const Scores& other);

  std::mutex mutex_;
  Scores answer_, shadow_;
};

class ShadowTraffic {
 public:
  // Both must outlive it, and the queue's last request.
  ShadowTraffic(RequestQueue& queue, ServerMetrics& metrics, size_t max_queued)
      : queue_(queue), metrics_(metrics), most_waiting_(max_queued / 4) {}

  // Has the shadow score a request of the model; read() makes it. Where requests wait already, up
  // to a quarter of what may wait, it is dropped and counted: those of clients go first. Returns
  // where the answer's scores are to be added; null if it was dropped.
  template <typename Read>
  std::shared_ptr<ShadowScores> Submit(const std::string& model,
                                       const std::shared_ptr<Predictor>& shadow, Read read) {
    if (queue_.queued() >= most_waiting_) {
      metrics_.CountShadow(model, {.dropped = 1});
      return nullptr;
    }
    try {
      return SubmitRead(model, shadow, read());
    } catch (const Error&) {  // it reads other inputs, or there is no room by now
      metrics_.CountShadow(model, {.failed = 1});
      return nullptr;
    }
  }
  void AddAnswer(const std::string& model, ShadowScores& scores, const std::vector<float>& answer);

 private:
  std::shared_ptr<ShadowScores> SubmitRead(const std::string& model,
                                           const std::shared_ptr<Predictor>& shadow,
                                           PredictRequest request);

  RequestQueue& queue_;
  ServerMetrics& metrics_;
  const size_t most_waiting_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_SHADOW_TRAFFIC_H_
