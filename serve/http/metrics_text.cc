#include "serve/http/metrics_text.h"

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

}  // namespace

void MetricsText::Begin(std::string name, const char* type, const char* help) {
  name_ = std::move(name);
  head_ = Format("# HELP {} {}\n# TYPE {} {}\n", name_, help, name_, type);
}

void MetricsText::Line(const char* suffix, const MetricLabels& labels, const std::string& value) {
  text_ += std::exchange(head_, "");
  std::string inside;
  for (const auto& [name, label] : labels)
    inside += Format("{}{}=\"{}\"", inside.empty() ? "" : ",", name, Escaped(label));
  if (!inside.empty()) inside = "{" + inside + "}";
  text_ += Format("{}{}{} {}\n", name_, suffix, inside, value);
}

void MetricsText::Sample(const MetricLabels& labels, const Histogram& histogram) {
  int64_t count = 0;
  MetricLabels with_end = labels;
  with_end.emplace_back("le", "");
  for (size_t i = 0; i < histogram.buckets().size(); ++i) {
    count += histogram.buckets()[i];
    const bool last = i == Histogram::kEnds.size();
    with_end.back().second = last ? "+Inf" : Format("{}", Histogram::kEnds[i]);
    Line("_bucket", with_end, Format("{}", count));
  }
  Line("_sum", labels, Format("{}", histogram.sum()));
  Line("_count", labels, Format("{}", count));
}

}  // namespace tessera::serve
