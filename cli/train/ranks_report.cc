#include "cli/train/ranks_report.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera::cli {
namespace {

constexpr size_t kMaxLines = 16;

double LeastExchange(const std::vector<RankReport>& ranks) {
  return std::min_element(ranks.begin(), ranks.end(),
                          [](const RankReport& a, const RankReport& b) {
                            return a.exchange_seconds < b.exchange_seconds;
                          })
      ->exchange_seconds;
}

double ComputingSeconds(const RankReport& rank) { return rank.seconds - rank.exchange_seconds; }

std::string Seconds(double seconds) { return Format("{:.2f} s", seconds); }

// The ranks that are shown, in order.
std::vector<size_t> Shown(const std::vector<RankReport>& ranks) {
  std::vector<size_t> shown(ranks.size());
  std::iota(shown.begin(), shown.end(), 0);
  if (shown.size() <= kMaxLines) return shown;
  std::stable_sort(shown.begin(), shown.end(), [&](size_t a, size_t b) {
    return ComputingSeconds(ranks[a]) > ComputingSeconds(ranks[b]);
  });
  shown.resize(kMaxLines);
  std::sort(shown.begin(), shown.end());
  return shown;
}

internal::Json ToJson(const std::vector<FeatureItems>& counted) {
  internal::Json json = internal::Json::array();
  for (const FeatureItems& f : counted)
    json.push_back({f.feature, f.words, f.rows, f.count.items, f.count.unknown});
  return json;
}

std::vector<FeatureItems> ItemsFrom(const internal::Json& json) {
  std::vector<FeatureItems> counted;
  for (const internal::Json& f : json)
    counted.push_back({f[0], f[1], f[2], {.items = f[3], .unknown = f[4]}});
  return counted;
}

}  // namespace

std::string RanksTable(const std::vector<RankReport>& ranks) {
  if (ranks.empty()) return "";
  std::vector<std::vector<std::string>> rows = {
      {"rank", "computing", "in exchanges", "of it waiting"}};
  for (const size_t r : Shown(ranks))
    rows.push_back({std::to_string(r), Seconds(ComputingSeconds(ranks[r])),
                    Seconds(ranks[r].exchange_seconds),
                    Seconds(ranks[r].exchange_seconds - LeastExchange(ranks))});
  std::string text = internal::TextTable(rows);
  if (ranks.size() > kMaxLines)
    text += Format("(the {} of {} ranks that computed the most)\n", kMaxLines, ranks.size());
  return text;
}

void AddRanks(const std::vector<RankReport>& ranks, internal::Json& json) {
  for (size_t r = 0; r < ranks.size(); ++r)
    json["ranks"].push_back({{"rank", r},
                             {"seconds", ranks[r].seconds},
                             {"exchange_seconds", ranks[r].exchange_seconds},
                             {"waiting_seconds", ranks[r].exchange_seconds - LeastExchange(ranks)},
                             {"peak_bytes", ranks[r].memory.peak_bytes}});
}

std::string GroupsLine(const std::optional<GroupsReport>& groups) {
  if (!groups) return "";
  return Format("{} sharding groups of {}: their tables became their mean {}\n", groups->groups,
                internal::Counted(groups->ranks_of_each, "rank"),
                internal::Counted(groups->averages, "time"));
}

void AddGroups(const std::optional<GroupsReport>& groups, internal::Json& json) {
  if (!groups) return;
  json["sharding_groups"] = {{"groups", groups->groups},
                             {"ranks_of_each", groups->ranks_of_each},
                             {"sync_interval", groups->sync_interval},
                             {"averages", groups->averages}};
}

void AddItemsOfRanks(Communicator& comm, UnknownItems& items) {
  if (comm.backend() == "local") return;
  const auto of_ranks = comm.GatherStringsSync(ToJson(items.All()).dump(), "unknown items");
  if (!IsLeader(comm)) return;
  for (size_t r = 1; r < of_ranks.size(); ++r)
    items.Add(ItemsFrom(internal::ParseJson(of_ranks[r])));
}

}  // namespace tessera::cli
