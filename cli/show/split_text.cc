#include "cli/show/split_text.h"

#include <utility>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"
#include "train/config/split_json.h"

namespace tessera::cli {
namespace {

constexpr std::pair<RowPart, const char*> kParts[] = {{RowPart::kTrain, "to train on"},
                                                      {RowPart::kEval, "for evaluation"}};

// fn(name, count) for each count that is known.
template <typename Fn>
void ForEachCount(const SplitCounts& counts, Fn fn) {
  for (const auto& [part, what] : kParts) {
    const std::optional<PartCount> count = counts.Of(part);
    if (!count) continue;
    fn(ToString(part) + "_rows", count->rows);
    if (count->ids) fn(ToString(part) + "_ids", *count->ids);
  }
}

}  // namespace

std::string SplitText(const std::optional<SplitOptions>& split, const SplitCounts& counts) {
  if (!split) return "";
  std::string text = Format("split {}", *split);
  bool is_first = true;  // whose nouns the second part shares
  const auto counted = [&](int64_t number, const char* noun) {
    return is_first ? Counted(number, noun) : Count(number);
  };
  for (const auto& [part, what] : kParts) {
    const std::optional<PartCount> count = counts.Of(part);
    if (!count) continue;
    const std::string of_ids = count->ids ? Format(" of {}", counted(*count->ids, "id")) : "";
    text += Format("{} {}{} {}", is_first ? ":" : ",", counted(count->rows, "row"), of_ids, what);
    is_first = false;
  }
  return text + "\n";
}

LogFields SplitFields(const SplitOptions& split, const SplitCounts& counts) {
  LogFields fields = {{"split", ToString(split)}};
  ForEachCount(counts,
               [&](const std::string& name, int64_t count) { fields.emplace_back(name, count); });
  return fields;
}

void AddSplit(const std::optional<SplitOptions>& split, const SplitCounts& counts,
              internal::Json& json) {
  if (!split) return;
  json["split"] = internal::SplitToJson(*split);
  ForEachCount(counts,
               [&](const std::string& name, int64_t count) { json["split"][name] = count; });
}

}  // namespace tessera::cli
