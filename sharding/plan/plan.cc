#include "sharding/plan/plan.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "runtime/base/check.h"
#include "runtime/base/names.h"
#include "runtime/base/size_limits.h"

namespace tessera {
namespace {

constexpr const char* kTypeNames[] = {"data_parallel", "table_wise",     "column_wise",
                                      "row_wise",      "table_row_wise", "table_column_wise",
                                      "grid_shard"};
constexpr const char* kKernelNames[] = {"dense", "fused", "fused_uvm", "fused_uvm_caching",
                                        "key_value"};

std::string Range(const char* what, int64_t begin, int64_t end) {
  return Format("{} {} to {}", what, begin, end);
}
std::string RowsOf(const Shard& s) { return Range("rows", s.row_offset, s.row_offset + s.rows); }
std::string ColumnsOf(const Shard& s) {
  return Range("columns", s.column_offset, s.column_offset + s.columns);
}

// Checks whether the shards of a table are acceptable. Every error begins with the table and its
// type.
class Checker {
 public:
  Checker(const TableSharding& sharding, const TableShape& table, int world_size, int local_size)
      : shards_(sharding.shards),
        table_(table),
        world_size_(world_size),
        local_size_(local_size),
        type_(sharding.type) {}

  void Check() const {
    if (shards_.empty()) Fail("it has no shards");
    for (const Shard& shard : shards_) CheckInside(shard);
    if (type_ == ShardingType::kDataParallel) return CheckReplicas();
    CheckCover();
    CheckOrder();
    CheckType();
  }

 private:
  template <typename... Args>
  [[noreturn]] void Fail(std::string_view pattern, const Args&... args) const {
    throw Error(Format("plan: table {} ({}): {}", table_.name, type_, Format(pattern, args...)));
  }

  void CheckInside(const Shard& s) const {
    if (s.rank < 0 || s.rank >= world_size_)
      Fail("{}: there are ranks 0 to {}", s, world_size_ - 1);
    if (s.columns == 0) Fail("{}: a shard without columns; expected 1 at least", s);
    const bool inside = s.row_offset >= 0 && s.rows >= 0 && s.rows <= table_.rows - s.row_offset &&
                        s.column_offset >= 0 && s.columns > 0 &&
                        s.columns <= table_.dim - s.column_offset;
    if (!inside) Fail("{}: not inside the table, which is [{}, {}]", s, table_.rows, table_.dim);
  }

  bool IsWhole(const Shard& s) const { return s.rows == table_.rows && s.columns == table_.dim; }

  void CheckReplicas() const {
    if (static_cast<int>(shards_.size()) != world_size_)
      Fail("expected the whole table on each of {} ranks, got {} shards", world_size_,
           shards_.size());
    for (int r = 0; r < world_size_; ++r) {
      const Shard& s = shards_[static_cast<size_t>(r)];
      if (s.rank != r || !IsWhole(s))
        Fail("shard {}: expected all of it on rank {}, got {}", r, r, s);
    }
  }

  // The end of the run of shards that are in the same column block as `begin`.
  static size_t BlockEnd(const std::vector<Shard>& shards, size_t begin) {
    size_t end = begin + 1;
    while (end < shards.size() && shards[end].column_offset == shards[begin].column_offset) ++end;
    return end;
  }

  void CheckCover() const {
    TableSharding sorted{.type = type_, .shards = shards_};
    SortShards(sorted);
    const std::vector<Shard>& shards = sorted.shards;
    int64_t column = 0;
    for (size_t begin = 0; begin < shards.size();) {
      const size_t end = BlockEnd(shards, begin);
      const Shard& first = shards[begin];
      if (first.column_offset > column)
        Fail("gap: {} are on no rank", Range("columns", column, first.column_offset));
      if (first.column_offset < column) Fail("overlap: {}, and {}", shards[begin - 1], first);
      CheckRows({shards.data() + begin, end - begin});
      column = first.column_offset + first.columns;
      begin = end;
    }
    if (column < table_.dim) Fail("gap: {} are on no rank", Range("columns", column, table_.dim));
  }

  // Throws unless the shards of one column block cover the rows.
  void CheckRows(std::span<const Shard> block) const {
    int64_t row = 0;
    for (size_t i = 0; i < block.size(); ++i) {
      const Shard& s = block[i];
      if (s.columns != block[0].columns) Fail("overlap of columns: {}, and {}", block[0], s);
      if (s.row_offset > row)
        Fail("gap: {} of {} are on no rank", Range("rows", row, s.row_offset), ColumnsOf(s));
      if (s.row_offset < row) Fail("overlap: {}, and {}", block[i - 1], s);
      row += s.rows;
    }
    if (row < table_.rows)
      Fail("gap: {} of {} are on no rank", Range("rows", row, table_.rows), ColumnsOf(block[0]));
  }

  // Called after CheckCover. Throws unless the shards are given in the order in which they cover
  // the table.
  void CheckOrder() const {
    for (size_t i = 1; i < shards_.size(); ++i) {
      const Shard &a = shards_[i - 1], &b = shards_[i];
      const bool follows = b.column_offset == a.column_offset
                               ? b.row_offset == a.row_offset + a.rows
                               : b.column_offset > a.column_offset;
      if (!follows) Fail("shards are not in order: {}, then {}", a, b);
    }
  }

  void CheckType() const {
    switch (type_) {
      case ShardingType::kDataParallel:
        return;
      case ShardingType::kTableWise:
        if (shards_.size() != 1) Fail("expected one shard, got {}", shards_.size());
        return;
      case ShardingType::kColumnWise:
        return CheckAllRows();
      case ShardingType::kTableColumnWise:
        CheckAllRows();
        return CheckOneNode();
      case ShardingType::kRowWise:
      case ShardingType::kTableRowWise:
        CheckAllColumns();
        return CheckRowBlocks({shards_});
      case ShardingType::kGridShard:
        for (size_t begin = 0; begin < shards_.size();) {
          const size_t end = BlockEnd(shards_, begin);
          CheckRowBlocks({shards_.data() + begin, end - begin});
          CheckSameRows({shards_.data(), end - begin}, {shards_.data() + begin, end - begin});
          begin = end;
        }
    }
  }

  void CheckAllRows() const {
    for (const Shard& s : shards_)
      if (s.rows != table_.rows) Fail("{}: expected all {} rows", s, table_.rows);
  }
  void CheckAllColumns() const {
    for (const Shard& s : shards_)
      if (s.columns != table_.dim) Fail("{}: expected all {} columns", s, table_.dim);
  }
  void CheckOneNode() const {
    for (const Shard& s : shards_)
      if (s.rank / local_size_ != shards_[0].rank / local_size_)
        Fail("expected ranks of one node ({} a node), got ranks {} and {}", local_size_,
             shards_[0].rank, s.rank);
  }

  // Throws unless block i lies on the i-th of all ranks, or of a node's.
  void CheckRowBlocks(std::span<const Shard> blocks) const {
    const bool over_all = type_ == ShardingType::kRowWise;
    const int count = over_all ? world_size_ : local_size_;
    const int first = over_all ? 0 : blocks[0].rank / local_size_ * local_size_;
    if (static_cast<int>(blocks.size()) != count)
      Fail("{}: expected {} blocks of rows, one for each rank{}, got {}", ColumnsOf(blocks[0]),
           count, over_all ? "" : " of a node", blocks.size());
    for (int i = 0; i < count; ++i) {
      const Shard& s = blocks[static_cast<size_t>(i)];
      if (s.rank != first + i)
        Fail("{}: expected them on rank {}, got {}", RowsOf(s), first + i, s.rank);
    }
  }

  // Throws unless both blocks of columns, of as many shards, have the same blocks of rows: ids are
  // dealt out to rows once for all columns.
  void CheckSameRows(std::span<const Shard> first, std::span<const Shard> other) const {
    for (size_t i = 0; i < first.size(); ++i)
      if (other[i].row_offset != first[i].row_offset || other[i].rows != first[i].rows)
        Fail("expected the same blocks of rows for all columns, got {}, and {}", first[i],
             other[i]);
  }

  const std::vector<Shard>& shards_;
  const TableShape& table_;
  int world_size_, local_size_;
  ShardingType type_;
};

}  // namespace

std::string ToString(ShardingType type) { return kTypeNames[static_cast<int>(type)]; }
ShardingType ParseShardingType(const std::string& name) {
  return internal::ParseName<ShardingType>(name, "sharding type", kTypeNames);
}

std::string ToString(ComputeKernel kernel) { return kKernelNames[static_cast<int>(kernel)]; }
ComputeKernel ParseComputeKernel(const std::string& name) {
  return internal::ParseName<ComputeKernel>(name, "compute kernel", kKernelNames);
}

std::string ToString(const Shard& shard) {
  return Format("rank {}: {}, {}", shard.rank, RowsOf(shard), ColumnsOf(shard));
}

void SortShards(TableSharding& sharding) {
  const bool by_rank = sharding.type == ShardingType::kDataParallel;
  // An empty block comes before the block that begins at the same row; empty ones are in the order
  // of ranks.
  const auto key = [&](const Shard& s) {
    return by_rank ? std::tuple<int64_t, int64_t, int64_t, int>(0, 0, 0, s.rank)
                   : std::tuple(s.column_offset, s.row_offset, s.rows, s.rank);
  };
  std::stable_sort(sharding.shards.begin(), sharding.shards.end(),
                   [&](const Shard& a, const Shard& b) { return key(a) < key(b); });
}

void CheckTableSharding(const TableSharding& sharding, const TableShape& table, int world_size,
                        int local_size) {
  Checker(sharding, table, world_size, local_size).Check();
}

void CheckRanks(const ShardingPlan& plan) {
  if (plan.world_size < 1)
    throw Error(Format("plan: expected a world_size above 0, got {}", plan.world_size));
  CheckPositive(plan.world_size, SizeLimits::kRanks, "plan: world_size");
  if (plan.local_size < 1 || plan.world_size % plan.local_size != 0)
    throw Error(Format("plan: expected a local_size that divides world_size {}, got {}",
                       plan.world_size, plan.local_size));
}

void CheckPlan(const ShardingPlan& plan, std::span<const TableShape> tables) {
  CheckRanks(plan);
  std::set<std::string> names;
  for (const TableShape& table : tables) {
    if (!names.insert(table.name).second)
      throw Error(Format("plan: two tables are called {}", table.name));
    CheckTableSize(table.rows, table.dim, "plan: table " + table.name);
    const auto found = plan.tables.find(table.name);
    if (found == plan.tables.end()) throw Error(Format("plan: table {} is missing", table.name));
    CheckTableSharding(found->second, table, plan.world_size, plan.local_size);
  }
  for (const auto& [name, sharding] : plan.tables)
    if (!names.contains(name)) throw Error(Format("plan: there is no table {}", name));
}

}  // namespace tessera
