#include "cli/show/split_text.h"

#include <utility>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"
#include "train/config/split_json.h"

namespace tessera::cli {
namespace {

constexpr std::pair<RowPart, const char*> kParts[] = {{RowPart::kTrain, "to train on"},
                                                      {RowPart::kEval, "for evaluation"}};

std::string Count(int64_t number) { return WithCommas(static_cast<double>(number)); }

}  // namespace

std::string SplitText(const std::optional<SplitOptions>& split, const SplitCounts& counts) {
  if (!split) return "";
  std::string text = Format("split {}", *split), before = ":", rows = " rows", ids = " ids";
  for (const auto& [part, what] : kParts) {
    const std::optional<PartCount> count = counts.Of(part);
    if (!count) continue;
    const std::string of_ids = count->ids ? Format(" of {}{}", Count(*count->ids), ids) : "";
    text += Format("{} {}{}{} {}", before, Count(count->rows), rows, of_ids, what);
    before = ",";
    rows = ids = "";
  }
  return text + "\n";
}

void AddSplit(const std::optional<SplitOptions>& split, const SplitCounts& counts,
              internal::Json& json) {
  if (!split) return;
  json["split"] = internal::SplitToJson(*split);
  for (const auto& [part, what] : kParts) {
    const std::optional<PartCount> count = counts.Of(part);
    if (!count) continue;
    json["split"][ToString(part) + "_rows"] = count->rows;
    if (count->ids) json["split"][ToString(part) + "_ids"] = *count->ids;
  }
}

}  // namespace tessera::cli
