// Kind `sharding`: how tables are cut, and plans made by hand.
#include "sharding/plan/plan_makers.h"
#include "sharding/plan/shard_sizes.h"
#include "tests/conformance/kinds.h"
#include "tests/conformance/sharding_case.h"

namespace tessera::conformance {
namespace {

std::vector<TableShape> ShapesOf(const Case& c) {
  std::vector<TableShape> tables;
  for (const Json& t : c.attrs.at("tables"))
    tables.push_back(
        {t.at("name").get<std::string>(), t.at("rows").get<int64_t>(), t.at("dim").get<int64_t>()});
  return tables;
}

RankLayout LayoutOf(const Case& c) {
  return {.world_size = c.attrs.at("world_size").get<int>(),
          .local_size = c.attrs.at("local_size").get<int>()};
}

// [shards, 4], or [shards, 5] with the rank in front.
Tensor ShardTensor(Context& ctx, const std::vector<Shard>& shards, bool with_rank) {
  std::vector<int64_t> numbers;
  for (const Shard& s : shards) {
    if (with_rank) numbers.push_back(s.rank);
    numbers.insert(numbers.end(), {s.row_offset, s.column_offset, s.rows, s.columns});
  }
  return Tensor::From(ctx, {static_cast<int64_t>(shards.size()), with_rank ? 5 : 4}, numbers);
}

ShardSizeOptions OptionsOf(const Case& c) {
  ShardSizeOptions options;
  const auto given = [&](const char* key) { return !c.attrs.at(key).is_null(); };
  if (given("min_partition")) options.min_partition = c.attrs["min_partition"].get<int64_t>();
  if (given("num_buckets")) options.num_buckets = c.attrs["num_buckets"].get<int64_t>();
  if (given("device_memory_sizes"))
    options.device_memory_sizes = c.attrs["device_memory_sizes"].get<std::vector<double>>();
  return options;
}

Answer ShardSizesOf(Context& ctx, const Case& c) {
  const ShardingType type = ParseShardingType(c.attrs.at("sharding_type").get<std::string>());
  const RankLayout layout = LayoutOf(c);
  Answer answer;
  for (const TableShape& table : ShapesOf(c))
    answer.tensors[table.name] = ShardTensor(
        ctx, ShardSizes(type, table, layout.world_size, layout.local_size, OptionsOf(c)),
        /*with_rank=*/false);
  return answer;
}

TableSharder SharderOf(const Json& table) {
  const auto numbers = [&](const char* key) { return table.at(key).get<std::vector<int>>(); };
  switch (ParseShardingType(table.at("sharding_type").get<std::string>())) {
    case ShardingType::kDataParallel:
      return DataParallel();
    case ShardingType::kTableWise:
      return TableWise(table.at("rank").get<int>());
    case ShardingType::kRowWise:
      return RowWise();
    case ShardingType::kColumnWise:
      if (!table.contains("size_per_rank")) return ColumnWise(numbers("ranks"));
      return ColumnWiseSizes(table["size_per_rank"].get<std::vector<int64_t>>());
    case ShardingType::kTableRowWise:
      return TableRowWise(table.at("host").get<int>());
    case ShardingType::kTableColumnWise:
      return TableColumnWise(numbers("ranks"));
    case ShardingType::kGridShard:
      return GridShard(numbers("hosts"));
  }
  throw Unsupported("sharding type");
}

Answer PlanAnswer(Context& ctx, const Case& c) {
  std::map<std::string, TableSharder> sharders;
  for (const Json& table : c.attrs.at("tables"))
    sharders[table.at("name").get<std::string>()] = SharderOf(table);
  const ShardingPlan plan = MakeShardingPlan(LayoutOf(c), ShapesOf(c), sharders);
  Answer answer;
  for (const auto& [name, sharding] : plan.tables)
    answer.tensors[name] = ShardTensor(ctx, sharding.shards, /*with_rank=*/true);
  return answer;
}

}  // namespace

Answer RunSharding(Context& ctx, const Case& c) {
  const std::string op = c.attrs.at("op").get<std::string>();
  if (op == "shard_sizes") return ShardSizesOf(ctx, c);
  if (op == "sharding_plan") return PlanAnswer(ctx, c);
  if (op == "input_dist") return InputDistOf(ctx, c);
  if (op == "train_sharded") return TrainShardedOf(ctx, c);
  throw Unsupported("op " + op);
}

}  // namespace tessera::conformance
