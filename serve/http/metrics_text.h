#ifndef TESSERA_SERVE_HTTP_METRICS_TEXT_H_
#define TESSERA_SERVE_HTTP_METRICS_TEXT_H_
// A page of metrics in Prometheus' text format 0.0.4.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "serve/http/version_counts.h"

namespace tessera::serve {

using MetricLabels = std::vector<std::pair<std::string_view, std::string>>;

class MetricsText {
 public:
  // Begins a metric; the samples that follow are of it. Without samples it is left out.
  void Begin(std::string name, const char* type, const char* help);
  template <typename T>
  void Sample(const MetricLabels& labels, T value) {
    Line("", labels, Format("{}", value));
  }
  void Sample(const MetricLabels& labels, const Histogram& histogram);

  const std::string& text() const { return text_; }

 private:
  void Line(const char* suffix, const MetricLabels& labels, const std::string& value);

  std::string name_, head_, text_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_METRICS_TEXT_H_
