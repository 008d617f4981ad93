// A plan as two tables of text:
//
//   param | sharding type | compute kernel | ranks
//   ----- | ------------- | -------------- | ------
//   t0    | row_wise      | fused          | [0, 1]
//
//   param | shard offsets | shard sizes | placement
//   …
#include <algorithm>
#include <array>

#include "runtime/base/check.h"
#include "sharding/plan/plan.h"

namespace tessera {
namespace {

constexpr size_t kColumns = 4;
using Row = std::array<std::string, kColumns>;

std::string Padded(const std::string& cell, size_t width, size_t before) {
  return std::string(before, ' ') + cell + std::string(width - cell.size() - before, ' ');
}

std::string Line(const Row& cells) {
  std::string line;
  for (size_t c = 0; c < kColumns; ++c) line += (c == 0 ? "" : " | ") + cells[c];
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

// Formats a table; the first row is the heading, whose words stand in the middle.
std::string TableText(const std::vector<Row>& rows) {
  std::string text;
  std::array<size_t, kColumns> widths = {};
  for (const Row& row : rows)
    for (size_t c = 0; c < kColumns; ++c) widths[c] = std::max(widths[c], row[c].size());
  for (const Row& row : rows) {
    Row cells, rule;
    for (size_t c = 0; c < kColumns; ++c) {
      const bool heading = &row == &rows[0];
      cells[c] = Padded(row[c], widths[c], heading ? (widths[c] - row[c].size()) / 2 : 0);
      rule[c] = std::string(widths[c], '-');
    }
    text += Line(cells);
    if (&row == &rows[0]) text += Line(rule);
  }
  return text;
}

std::string RanksOf(const TableSharding& sharding) {
  std::string text = "[";
  for (const Shard& shard : sharding.shards)
    text += (text.size() == 1 ? "" : ", ") + std::to_string(shard.rank);
  return text + "]";
}

}  // namespace

std::string ToString(const ShardingPlan& plan) {
  std::vector<Row> tables = {{"param", "sharding type", "compute kernel", "ranks"}};
  std::vector<Row> shards = {{"param", "shard offsets", "shard sizes", "placement"}};
  for (const auto& [name, sharding] : plan.tables) {
    tables.push_back({name, ToString(sharding.type), ToString(sharding.kernel), RanksOf(sharding)});
    for (const Shard& s : sharding.shards)
      shards.push_back({name, Format("[{}, {}]", s.row_offset, s.column_offset),
                        Format("[{}, {}]", s.rows, s.columns), Format("rank:{}", s.rank)});
  }
  return Format("{} ranks, {} a node\n\n{}\n{}", plan.world_size, plan.local_size,
                TableText(tables), TableText(shards));
}

}  // namespace tessera
