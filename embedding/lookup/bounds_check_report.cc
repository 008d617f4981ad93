#include "embedding/lookup/bounds_check_report.h"

#include <algorithm>

namespace tessera {
namespace {

std::string Counted(int64_t n, const char* what) {
  return std::to_string(n) + " bad " + what + (n == 1 ? "" : "s");
}

std::string LineOf(const FeatureFindings& f) {
  std::string line = "feature " + f.feature + ": " + Counted(f.bad_ids, "id") + ", " +
                     Counted(f.bad_offsets, "offset");
  const char* separator = "; ";
  for (const BadId& bad : f.examples) {
    line += separator + ("id " + std::to_string(bad.id)) + " in bag " + std::to_string(bad.bag);
    separator = ", ";
  }
  if (f.bad_ids > static_cast<int64_t>(f.examples.size())) line += ", …";
  return line + "\n";
}

}  // namespace

int64_t BoundsCheckReport::findings() const {
  int64_t sum = 0;
  for (const FeatureFindings& f : features) sum += f.bad_ids + f.bad_offsets;
  return sum;
}

std::string ToString(const BoundsCheckReport& report) {
  std::string text;
  for (const FeatureFindings& f : report.features)
    if (f.bad_ids + f.bad_offsets > 0) text += LineOf(f);
  return text;
}

BoundsCheckLog::BoundsCheckLog(Context& ctx, std::vector<std::string> features)
    : features_(std::move(features)),
      entries_(Tensor::Zeros(ctx, {static_cast<int64_t>(features_.size()), internal::kLogEntry},
                             DType::kI64)) {}

BoundsCheckReport BoundsCheckLog::ReportSync() const {
  BoundsCheckReport report;
  if (!defined()) return report;
  const std::vector<int64_t> entries = entries_.ToVector<int64_t>();
  for (size_t f = 0; f < features_.size(); ++f) {
    const int64_t* entry = entries.data() + f * internal::kLogEntry;
    report.features.push_back(
        {features_[f], entry[internal::kBadIds], entry[internal::kBadOffsets], {}});
    const int64_t kept = std::min<int64_t>(entry[internal::kSearched], kExamples);
    for (const int64_t* e = entry + internal::kFirstExample;
         e < entry + internal::kFirstExample + 2 * kept; e += 2)
      report.features.back().examples.push_back({e[0], e[1]});
  }
  return report;
}

}  // namespace tessera
