#include "planner/calibration/measure_tables.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "planner/calibration/table_trial.h"
#include "planner/step_model/rule_by_name.h"
#include "planner/step_model/step_load.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

using internal::kBagIds;
using internal::kFloat;

constexpr int64_t kDims[] = {4, 16, 64, 256};
constexpr int64_t kSmallBytes = int64_t{1} << 20;

class TableMeasurement {
 public:
  TableMeasurement(Rounds& rounds, const MeasureSizes& sizes, MachineProfile& profile)
      : rounds_(rounds),
        largest_(sizes.largest_table_bytes),
        most_ids_(sizes.most_ids),
        least_ids_(sizes.most_ids / 32),
        profile_(profile) {}

  void Calls() {
    TableTrial trial{.rows = 64, .bags = 1, .ids = 1};
    const TableTimes one = TimeTables(rounds_, trial);
    constexpr int64_t kTables = 64;
    trial.tables = kTables;
    const TableTimes many = TimeTables(rounds_, trial);
    lookup().feature = std::max(0.0, many.forward - one.forward) / (kTables - 1);
    update().table = std::max(0.0, many.backward - one.backward) / (kTables - 1);
    lookup().call = std::max(0.0, one.forward - lookup().feature);
    update().call = std::max(0.0, one.backward - update().table);
  }

  // Measures a bag apart from its ids: as many ids lie in few bags, and in many.
  void Bags() {
    for (const int64_t dim : kDims) {
      TableTrial trial{.rows = RowsOf(kSmallBytes, dim), .dim = dim};
      trial.bags = least_ids_;
      trial.ids = 1;
      const double many = TimeTables(rounds_, trial).forward;
      trial.bags = least_ids_ / kBagIds;
      trial.ids = kBagIds;
      const double few = TimeTables(rounds_, trial).forward;
      lookup().bag.push_back(
          {static_cast<double>(dim * kFloat),
           std::max(0.0, many - few) / static_cast<double>(least_ids_ - least_ids_ / kBagIds)});
    }
  }

  // Measures an occurrence apart from its row: many ids name few rows.
  void Occurrences() {
    for (const int64_t dim : kDims) {
      RowPrices prices{dim * kFloat, {}};
      for (const int64_t ids : {least_ids_, most_ids_ / 2}) {
        TableTrial trial{.rows = ids / 64, .dim = dim, .bags = ids / 4, .ids = 4};
        trial.rule = Sgd{};
        const double seconds = TimeTables(rounds_, trial).backward - update().call - update().table;
        prices.by_working_set.push_back({static_cast<double>(trial.bags * dim * kFloat),
                                         std::max(0.0, seconds) / static_cast<double>(ids)});
      }
      update().occurrence.push_back(std::move(prices));
    }
  }

  // Measures how much longer the sort of an id takes when its table has more rows, with the same
  // number of distinct ones.
  void Sorts() {
    constexpr int64_t kNamed = 1024;
    const int64_t ids = most_ids_ / 4;
    double first = 0;
    for (const int64_t rows : {kNamed, kNamed << 6, kNamed << 10}) {
      if (rows * 4 * kFloat > largest_) break;
      TableTrial trial{.rows = rows, .dim = 4, .bags = ids / kBagIds, .ids = kBagIds};
      trial.named_rows = kNamed;
      trial.rule = Sgd{};
      const double seconds = TimeTables(rounds_, trial).backward / static_cast<double>(ids);
      if (update().sort.empty()) first = seconds;
      update().sort.push_back({static_cast<double>(rows), std::max(0.0, seconds - first)});
    }
  }

  void Rows() {
    for (const int64_t dim : kDims) {
      RowPrices lookups{dim * kFloat, {}}, updates{dim * kFloat, {}};
      for (const int64_t bytes : Sizes()) {
        const Point point = Measure(bytes, dim, DType::kF32, "rowwise_adagrad");
        lookups.by_working_set.push_back(point.lookup);
        updates.by_working_set.push_back(point.update);
      }
      lookup().rows[DType::kF32].push_back(std::move(lookups));
      update().rows["rowwise_adagrad"].push_back(std::move(updates));
    }
  }

  void Rules() {
    for (const std::string rule : {"sgd", "adagrad", "adam"})
      for (const int64_t dim : {int64_t{16}, int64_t{64}, int64_t{256}}) {
        RowPrices updates{dim * kFloat, {}};
        for (const int64_t bytes : FewSizes())
          updates.by_working_set.push_back(Measure(bytes, dim, DType::kF32, rule).update);
        update().rows[rule].push_back(std::move(updates));
      }
  }

  void RowTypes() {
    for (const DType type : {DType::kF16, DType::kBF16})
      for (const int64_t dim : {int64_t{16}, int64_t{64}, int64_t{256}}) {
        RowPrices lookups{dim * SizeOf(type), {}};
        for (const int64_t bytes : FewSizes())
          lookups.by_working_set.push_back(Measure(bytes, dim, type, "sgd").lookup);
        lookup().rows[type].push_back(std::move(lookups));
      }
    const double floats = TimeTables(rounds_, Typical()).backward;
    for (const DType type : {DType::kF16, DType::kBF16}) {
      TableTrial trial = Typical();
      trial.row_type = type;
      update().row_type[type] = TimeTables(rounds_, trial).backward / floats;
    }
  }

 private:
  struct Point {
    CostPoint lookup, update;
  };

  LookupPrices& lookup() { return profile_.lookup; }
  UpdatePrices& update() { return profile_.update; }
  static int64_t RowsOf(int64_t bytes, int64_t dim) {
    return std::max<int64_t>(64, bytes / (dim * kFloat));
  }
  std::vector<int64_t> Sizes() const {
    std::vector<int64_t> sizes;
    for (int64_t bytes = kSmallBytes / 4; bytes <= largest_; bytes *= 4) sizes.push_back(bytes);
    return sizes;
  }
  std::vector<int64_t> FewSizes() const {
    const int64_t large = largest_ / 4;
    return {std::min(kSmallBytes, large / 8), large / 4, large};
  }
  TableTrial Typical() const {
    constexpr int64_t kDim = 64;
    return {.rows = RowsOf(largest_ / 16, kDim),
            .dim = kDim,
            .bags = most_ids_ / 8 / kBagIds,
            .ids = kBagIds};
  }

  // Measures a table of `bytes`, whose ids are as many as its rows, within the limits of a call.
  Point Measure(int64_t bytes, int64_t dim, DType type, const std::string& rule) {
    TableTrial trial{.rows = RowsOf(bytes, dim), .dim = dim};
    trial.bags = std::clamp(trial.rows, least_ids_ / 8, most_ids_) / kBagIds;
    trial.ids = kBagIds;
    trial.row_type = type;
    trial.rule = RuleByName(rule);
    const TableTimes times = TimeTables(rounds_, trial);
    const auto ids = static_cast<double>(trial.bags * trial.ids),
               bags = static_cast<double>(trial.bags), row = static_cast<double>(dim * kFloat);
    const double in_use = static_cast<double>(trial.rows) *
                          BytesOfRow({.name = {}, .dim = dim, .row_type = type, .rule = rule});
    const double distinct = DistinctRows(UniformRows(trial.rows), ids);
    const double of_ids = (ids - distinct) * RowPrice(update().occurrence, row, bags * row) +
                          ids * PriceAt(update().sort, static_cast<double>(trial.rows));
    // The working set of an update is the rows that this step named.
    const double named = in_use * distinct / static_cast<double>(trial.rows) / (1 - std::exp(-1.0));
    const double looked_up =
        times.forward - lookup().call - lookup().feature - bags * PriceAt(lookup().bag, row);
    const double updated = times.backward - update().call - update().table - of_ids;
    return {{in_use, std::max(0.0, looked_up) / ids}, {named, std::max(0.0, updated) / distinct}};
  }

  Rounds& rounds_;
  int64_t largest_;
  // The ids are so many that a call's own cost does not matter, and so few that it takes some
  // milliseconds.
  int64_t most_ids_, least_ids_;
  MachineProfile& profile_;
};

// Drops points that do not rise: every row of a table with at most most_ids_ rows is named in a
// step, and larger tables name no more bytes.
void KeepRising(RowPriceTable& table) {
  for (RowPrices& row : table) {
    CostCurve rising;
    for (const CostPoint& p : row.by_working_set)
      if (rising.empty() || p.at > rising.back().at * 1.05) rising.push_back(p);
    row.by_working_set = std::move(rising);
  }
}

}  // namespace

void MeasureTables(Rounds& rounds, const MeasureSizes& sizes,
                   const std::function<void(const std::string&)>& said, MachineProfile& profile) {
  TESSERA_CHECK(sizes.largest_table_bytes >= kSmallBytes && sizes.most_ids >= 2048,
                "tables of {} bytes and calls of {} ids; expected at least {} and 2048",
                sizes.largest_table_bytes, sizes.most_ids, kSmallBytes);
  TableMeasurement tables(rounds, sizes, profile);
  said("lookup and update: calls, bags, ids");
  tables.Calls();
  tables.Bags();
  tables.Occurrences();
  tables.Sorts();
  said("lookup and update: rows of every size, tables of every size");
  tables.Rows();
  said("update: rules");
  tables.Rules();
  said("lookup and update: row types");
  tables.RowTypes();
  for (auto& [rule, prices] : profile.update.rows) KeepRising(prices);
  for (auto& [type, prices] : profile.lookup.rows) KeepRising(prices);
}

}  // namespace tessera
