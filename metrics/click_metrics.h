#ifndef TESSERA_METRICS_CLICK_METRICS_H_
#define TESSERA_METRICS_CLICK_METRICS_H_
// AUC, log-loss, normalized entropy and calibration of a stream of batches: over all of it
// (lifetime), and over the end of it (window).
//
// Window of N: the sums keep whole batches; after adding one, while more than N examples are kept
// in more than one batch, the oldest batch goes. AUC keeps exactly the last N examples (TorchRec's
// rules). Lifetime AUC is exact too, and so keeps every example (12 bytes each) unless told not to.
#include <deque>
#include <vector>

#include "metrics/state/click_sums.h"
#include "metrics/state/kept_examples.h"

namespace tessera {

// NaN where not defined.
struct MetricValues {
  int64_t examples = 0;
  double auc, log_loss, normalized_entropy, calibration;
};

struct ClickMetricsOptions {
  int64_t window = 10'000'000;  // N > 0
  bool lifetime_auc = true;     // off: NaN, and no memory beyond the window's
};

class ClickMetrics {
 public:
  explicit ClickMetrics(ClickMetricsOptions options = {});

  // Adds a batch. Throws Error where sizes differ.
  void Update(const ScoredExamples& batch);

  MetricValues Lifetime() const;
  MetricValues Window() const;

 private:
  ClickMetricsOptions options_;
  ClickSums lifetime_;
  std::deque<ClickSums> window_;  // a batch each
  int64_t window_examples_ = 0;
  KeptExamples examples_;
};

}  // namespace tessera
#endif  // TESSERA_METRICS_CLICK_METRICS_H_
