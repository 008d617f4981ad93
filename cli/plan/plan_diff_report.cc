#include "cli/plan/plan_diff_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

// ---- in words

std::string RanksOf(const ShardingPlan& plan) {
  const std::string ranks = Counted(plan.world_size, "rank");
  return plan.local_size == plan.world_size ? ranks
                                            : Format("{}, {} a node", ranks, plan.local_size);
}

// "a → b", or what both are.
std::string Change(const std::string& before, const std::string& after) {
  return before == after ? before : Format("{} → {}", before, after);
}

bool AreEqual(const PlanComparison& c) {
  return c.diff.changes.empty() && c.before.plan.world_size == c.after.plan.world_size &&
         c.before.plan.local_size == c.after.plan.local_size;
}

std::string CountsText(const PlanComparison& c) {
  const PlanDiff& diff = c.diff;
  if (AreEqual(c))
    return Format("the plans are equal: {}, and nothing moves", Counted(diff.same, "table"));
  const auto number = [](int64_t count) { return WithCommas(static_cast<double>(count)); };
  std::string text = Format("tables: {} stay as they are", number(diff.same));
  const auto add = [&](TableChangeKind kind, const std::string& what) {
    if (const int64_t count = diff.CountOf(kind); count > 0)
      text += Format(", {} {}", number(count), what);
  };
  add(TableChangeKind::kMoved, "move");
  add(TableChangeKind::kInPlace, "change in place");
  add(TableChangeKind::kNew, "new");
  add(TableChangeKind::kGone, "gone");
  return text + (diff.moved_bytes == 0
                     ? "; no bytes move"
                     : Format("; {} of weights move to other ranks", Bytes(diff.moved_bytes)));
}

std::string StepText(const PlanComparison& c) {
  const PlanLoad &before = c.before.load, &after = c.after.load;
  const auto ms = [](const PlanLoad& load) { return Format("{:.4g} ms", load.step_ms); };
  std::string text = Format("predicted step: {}", Change(ms(before), ms(after)));
  if (before.step_ms > 0 && ms(before) != ms(after))
    text += Format(" ({:+.1f} %)", 100 * (after.step_ms / before.step_ms - 1));
  return text + Format(" by the {} cost model on {}; busiest rank: {}", c.cost_model, c.machine,
                       Change(Format("{}", before.busiest_rank), Format("{}", after.busiest_rank)));
}

// The rank that has most of a memory; "" where nobody has any.
template <typename Value>
std::string MemoryText(const PlanComparison& c, const char* memory,
                       int (*fullest)(const PlanStats&), Value&& value) {
  const auto of = [&](const PlanStats& stats) {
    const int rank = fullest(stats);
    return Format("{} on rank {}", Bytes(value(stats.ranks[static_cast<size_t>(rank)])), rank);
  };
  const auto uses = [&](const PlanStats& stats) {
    return value(stats.ranks[static_cast<size_t>(fullest(stats))]) > 0;
  };
  const PlanStats &before = c.before.load.stats, &after = c.after.load.stats;
  if (!uses(before) && !uses(after)) return "";
  return Format("most {} used: {}\n", memory, Change(of(before), of(after)));
}

std::string UnpricedText(const ComparedPlan& side) {
  if (side.unpriced.empty()) return "";
  return Format("times and memory of {} leave out {}: --tables lacks {}\n", side.path,
                side.unpriced.size() == 1
                    ? Format("table {}", side.unpriced.front())
                    : Format("{} tables, as {}", side.unpriced.size(), side.unpriced.front()),
                side.unpriced.size() == 1 ? "it" : "them");
}

std::string RanksText(const TableSharding& sharding) {
  std::vector<int> ranks;
  for (const Shard& shard : sharding.shards) ranks.push_back(shard.rank);
  return tessera::RanksText(ranks);
}

std::string KindText(TableChangeKind kind) {
  return kind == TableChangeKind::kInPlace ? "in place" : ToString(kind);
}

std::vector<std::string> RowOf(const TableChange& change) {
  const auto both = [&](auto&& text) {
    const auto side = [&](const std::optional<TableSharding>& s) { return s ? text(*s) : "none"; };
    return Change(side(change.before), side(change.after));
  };
  return {change.table,
          KindText(change.kind()),
          both([](const TableSharding& s) { return ToString(s.type); }),
          both([](const TableSharding& s) { return ToString(s.kernel); }),
          both([](const TableSharding& s) { return RanksText(s); }),
          Bytes(change.moved_bytes)};
}

std::string ChangesText(const PlanDiff& diff, int64_t top) {
  if (diff.changes.empty()) return "";
  const int64_t shown = std::min(top, std::ssize(diff.changes));
  std::vector<std::vector<std::string>> rows = {
      {"table", "change", "sharding", "kernel", "ranks", "moved"}};
  int64_t hidden_bytes = diff.moved_bytes;
  for (int64_t i = 0; i < shown; ++i) {
    const TableChange& change = diff.changes[static_cast<size_t>(i)];
    rows.push_back(RowOf(change));
    hidden_bytes -= change.moved_bytes;
  }
  std::string text = "\n" + TextTable(rows, "  ");
  if (const int64_t hidden = std::ssize(diff.changes) - shown; hidden > 0)
    text += Format("  … and {}: {} moved\n", Counted(hidden, "more table"), Bytes(hidden_bytes));
  return text;
}

// ---- as JSON

Json MemoryJson(int rank, int64_t bytes) { return {{"rank", rank}, {"bytes", bytes}}; }

Json SideJson(const ComparedPlan& side) {
  const PlanLoad& load = side.load;
  const auto rank = [&](int r) { return load.stats.ranks[static_cast<size_t>(r)]; };
  const int hbm = FullestHbmRank(load.stats), ddr = FullestDdrRank(load.stats);
  return {{"plan", side.path},
          {"ranks", side.plan.world_size},
          {"ranks_per_node", side.plan.local_size},
          {"step_ms", load.step_ms},
          {"busiest_rank", load.busiest_rank},
          {"most_hbm", MemoryJson(hbm, rank(hbm).hbm)},
          {"most_ddr", MemoryJson(ddr, rank(ddr).ddr)},
          {"unpriced_tables", side.unpriced}};
}

Json ShardingJson(const std::optional<TableSharding>& sharding) {
  if (!sharding) return nullptr;
  Json ranks = Json::array();
  for (const Shard& shard : sharding->shards) ranks.push_back(shard.rank);
  return {{"sharding_type", ToString(sharding->type)},
          {"compute_kernel", ToString(sharding->kernel)},
          {"ranks", std::move(ranks)}};
}

Json ChangeJson(const TableChange& change) {
  return {{"table", change.table},
          {"change", ToString(change.kind())},
          {"moved_bytes", change.moved_bytes},
          {"before", ShardingJson(change.before)},
          {"after", ShardingJson(change.after)}};
}

Json CountsJson(const PlanDiff& diff) {
  Json counts = {{"same", diff.same}};
  for (const TableChangeKind kind : {TableChangeKind::kMoved, TableChangeKind::kInPlace,
                                     TableChangeKind::kNew, TableChangeKind::kGone})
    counts[ToString(kind)] = diff.CountOf(kind);
  return counts;
}

}  // namespace

std::string PlanDiffText(const PlanComparison& c, int64_t top) {
  return Format("{} ({}) → {} ({})\n", c.before.path, RanksOf(c.before.plan), c.after.path,
                RanksOf(c.after.plan)) +
         CountsText(c) + "\n" + StepText(c) + "\n" +
         MemoryText(c, "HBM", FullestHbmRank, [](const RankStats& r) { return r.hbm; }) +
         MemoryText(c, "host memory", FullestDdrRank, [](const RankStats& r) { return r.ddr; }) +
         UnpricedText(c.before) + UnpricedText(c.after) + ChangesText(c.diff, top);
}

std::string PlanDiffJson(const PlanComparison& c) {
  Json json = {{"moved_bytes", c.diff.moved_bytes}, {"tables", CountsJson(c.diff)},
               {"cost_model", c.cost_model},        {"before", SideJson(c.before)},
               {"after", SideJson(c.after)},        {"changes", Json::array()}};
  for (const TableChange& change : c.diff.changes) json["changes"].push_back(ChangeJson(change));
  return json.dump(1) + "\n";
}

}  // namespace tessera::cli
