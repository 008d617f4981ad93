#ifndef TESSERA_EMBEDDING_LOOKUP_BOUNDS_CHECK_REPORT_H_
#define TESSERA_EMBEDDING_LOOKUP_BOUNDS_CHECK_REPORT_H_
// Findings of the bounds check in mode WARNING, feature by feature: how many, and the first
// examples in the order of the batches and of their ids.
//
// A log is counters and examples in the memory of a device, [features, kLogEntry] i64. A step adds
// to it and waits for nobody; only a report does.
#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace tessera {

struct BadId {
  int64_t bag;  // of the feature: the example of the batch
  int64_t id;
  friend bool operator==(const BadId&, const BadId&) = default;
};

struct FeatureFindings {
  std::string feature;
  int64_t bad_ids = 0, bad_offsets = 0;
  std::vector<BadId> examples;  // of bad ids, at most BoundsCheckLog::kExamples
};

struct BoundsCheckReport {
  std::vector<FeatureFindings> features;  // all of them, those without findings too
  int64_t findings() const;               // ids and offsets
};
// A line for each feature with findings:
//   feature clicks: 3 bad ids, 1 bad offset; id 12 in bag 0, id -5 in bag 7, …
std::string ToString(const BoundsCheckReport& report);

// A handle.
class BoundsCheckLog {
 public:
  static constexpr int kExamples = 8;

  BoundsCheckLog() = default;  // none: nothing is kept
  BoundsCheckLog(Context& ctx, std::vector<std::string> features);

  bool defined() const { return entries_.defined(); }
  // Returns what was found so far. Waits for the device.
  BoundsCheckReport ReportSync() const;
  // Forgets all. The next examples are those after this.
  void Clear(Context& ctx) const { entries_.Fill(ctx, 0); }

  const std::vector<std::string>& features() const { return features_; }
  const Tensor& entries() const { return entries_; }

 private:
  std::vector<std::string> features_;
  Tensor entries_;
};

namespace internal {
// A feature's entry: bad ids, bad offsets, how many of the bad ids were there when examples were
// last looked for (so that it is seen whether there are new ones), then bag and id of each example.
inline constexpr int kBadIds = 0, kBadOffsets = 1, kSearched = 2, kFirstExample = 3,
                     kLogEntry = kFirstExample + 2 * BoundsCheckLog::kExamples;
}  // namespace internal

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_LOOKUP_BOUNDS_CHECK_REPORT_H_
