#include "sharding/plan/torchrec_plan.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <sstream>

#include "runtime/files/files.h"
#include "runtime/json/json_fields.h"
#include "sharding/plan/plan_json.h"

namespace tessera {
namespace {

using internal::ForEachElement;
using internal::Json;
using internal::JsonObject;
using internal::RequiredPair;
using internal::RequiredWord;

// One table as it was printed.
struct Param {
  TableSharding sharding;
  std::vector<int> ranks;
};
using Params = std::map<std::string, Param>;

Param& AddParam(Params& params, const std::string& name) {
  const auto [at, added] = params.try_emplace(name);
  if (!added) throw Error(Format("table {} is in it twice (in two modules?)", name));
  return at->second;
}

// ---- text

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

constexpr size_t kCells = 4;

// The four cells of a row; empty for any other line.
std::vector<std::string> CellsOf(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream parts(line);
  for (std::string part; std::getline(parts, part, '|');) cells.push_back(Trimmed(part));
  if (cells.size() != kCells) cells.clear();
  return cells;
}

template <typename T>
std::vector<T> ParseNumbers(const std::string& text, size_t expected = 0) {
  std::vector<T> numbers;
  const char *at = text.data() + 1, *end = text.data() + text.size() - 1;
  bool sound = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  while (sound && at < end) {
    T number = 0;
    const auto parsed = std::from_chars(at, end, number);
    sound = parsed.ec == std::errc() && (parsed.ptr == end || *parsed.ptr == ',');
    numbers.push_back(number);
    for (at = parsed.ptr; at < end && (*at == ',' || *at == ' ');) ++at;
  }
  if (!sound || (expected != 0 && numbers.size() != expected))
    throw Error(Format("expected a list of numbers like [0, 1], got '{}'", text));
  return numbers;
}

// The rank in "rank:3/cuda:1"; absent if the text names none.
std::optional<int> ParseRank(const std::string& placement) {
  const std::string prefix = "rank:";
  const size_t at = placement.find(prefix);
  if (at == std::string::npos) return {};
  int rank = 0;
  const char* text = placement.c_str() + at + prefix.size();
  if (std::from_chars(text, placement.c_str() + placement.size(), rank).ec != std::errc())
    throw Error(Format("expected a placement like rank:0/cuda:0, got '{}'", placement));
  return rank;
}

void AddShard(Param& param, std::span<const int64_t> offsets, std::span<const int64_t> sizes,
              std::optional<int> rank) {
  const size_t index = param.sharding.shards.size();
  const int listed = index < param.ranks.size() ? param.ranks[index] : -1;
  param.sharding.shards.push_back(
      {rank.value_or(listed), offsets[0], offsets[1], sizes[0], sizes[1]});
}

class TextReader {
 public:
  Params Read(const std::string& text) {
    std::istringstream lines(text);
    int64_t number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      try {
        ReadLine(CellsOf(line));
      } catch (const Error& error) {
        throw Error(Format("line {}: {}", number, error.what()));
      }
    }
    return std::move(params_);
  }

 private:
  void ReadLine(const std::vector<std::string>& cells) {
    static const std::vector<std::string> kTables = {"param", "sharding type", "compute kernel",
                                                     "ranks"},
                                          kShards = {"param", "shard offsets", "shard sizes",
                                                     "placement"};
    if (cells.empty())
      inside_ = kNothing;
    else if (cells == kTables)
      inside_ = kInTables;
    else if (cells == kShards)
      inside_ = kInShards;
    else if (cells[0].find_first_not_of('-') == std::string::npos || inside_ == kNothing)
      return;
    else if (inside_ == kInTables)
      ReadTable(cells);
    else
      ReadShard(cells);
  }

  void ReadTable(const std::vector<std::string>& cells) {
    Param& param = AddParam(params_, cells[0]);
    param.sharding.type = ParseShardingType(cells[1]);
    param.sharding.kernel = ParseComputeKernel(cells[2]);
    param.ranks = ParseNumbers<int>(cells[3]);
  }

  void ReadShard(const std::vector<std::string>& cells) {
    const auto param = params_.find(cells[0]);
    if (param == params_.end())
      throw Error(Format("a shard of {}, which is not among the tables above", cells[0]));
    AddShard(param->second, ParseNumbers<int64_t>(cells[1], 2), ParseNumbers<int64_t>(cells[2], 2),
             ParseRank(cells[3]));
  }

  enum { kNothing, kInTables, kInShards } inside_ = kNothing;
  Params params_;
};

// ---- JSON

void ReadShards(const Json& shards, const std::string& where, Param& param) {
  ForEachElement(shards, where, [&](const Json& value, const std::string& place) {
    JsonObject shard(value, place);
    std::string placement;
    const Json* given = shard.Find("placement");
    if (given != nullptr && given->is_string()) placement = given->get<std::string>();
    AddShard(param, RequiredPair<int64_t>(shard, "shard_offsets", "[row, column]"),
             RequiredPair<int64_t>(shard, "shard_sizes", "[rows, columns]"),
             internal::ParseField(placement, shard.at("placement"), ParseRank));
  });
}

void ReadParam(const Json& value, const std::string& where, Param& param) {
  JsonObject object(value, where);
  param.sharding.type = RequiredWord(object, "sharding_type", ParseShardingType);
  param.sharding.kernel = RequiredWord(object, "compute_kernel", ParseComputeKernel);
  std::vector<int64_t> ranks;
  const Json* given = object.Find("ranks");
  if (given != nullptr && !given->is_null()) internal::ReadJson(*given, object.at("ranks"), ranks);
  param.ranks.assign(ranks.begin(), ranks.end());
  const Json* shards = object.Find("shards");
  const Json* spec = object.Find("sharding_spec");
  if (shards == nullptr && spec != nullptr && !spec->is_null())
    shards = &JsonObject(*spec, object.at("sharding_spec")).Require("shards");
  if (shards != nullptr && !shards->is_null()) ReadShards(*shards, object.at("shards"), param);
}

void ReadModule(const Json& module, const std::string& where, Params& params) {
  JsonObject object(module, where);
  for (const auto& [name, value] : module.items())
    ReadParam(value, object.at(name), AddParam(params, name));
}

bool IsParam(const Json& value) { return value.is_object() && value.contains("sharding_type"); }

// Another file of this library says its kind.
void CheckIsPlan(const Json& document) {
  for (const auto& [key, value] : document.items())
    if (key.starts_with("tessera_"))
      throw Error(
          Format("it is a file of \"{}\": expected a plan, one that tessera plan -o wrote "
                 "(\"tessera_sharding_plan\") or one of TorchRec",
                 key));
}

Params ReadModules(const Json& document) {
  CheckIsPlan(document);
  const bool wrapped = document.contains("plan") && !IsParam(document["plan"]);
  const Json& plan = wrapped ? document["plan"] : document;
  Params params;
  JsonObject object(plan, wrapped ? "plan" : "");
  if (!plan.empty() && IsParam(*plan.begin())) {
    ReadModule(plan, "", params);
    return params;
  }
  for (const auto& [path, module] : plan.items()) ReadModule(module, object.at(path), params);
  return params;
}

// ---- both

bool IsJson(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string::npos && text[begin] == '{';
}

// A table of data_parallel has no shards in print.
void AddReplicas(const std::string& name, Param& param, const RankLayout& layout,
                 std::span<const TableShape> tables) {
  const auto table = std::find_if(tables.begin(), tables.end(),
                                  [&](const TableShape& t) { return t.name == name; });
  if (table == tables.end()) throw Error(Format("there is no table {}", name));
  if (static_cast<int>(param.ranks.size()) != layout.world_size)
    throw Error(Format("table {} (data_parallel): expected {} ranks, got {}", name,
                       layout.world_size, param.ranks.size()));
  param.sharding.shards = DataParallel()(*table, layout).shards;
}

ShardingPlan PlanFrom(Params params, const RankLayout& layout, std::span<const TableShape> tables) {
  if (params.empty()) throw Error("there is no table in it: is it a plan?");
  ShardingPlan plan{.world_size = layout.world_size, .local_size = layout.local_size, .tables = {}};
  CheckRanks(plan);
  for (auto& [name, param] : params) {
    if (param.sharding.type == ShardingType::kDataParallel && param.sharding.shards.empty())
      AddReplicas(name, param, layout, tables);
    SortShards(param.sharding);
    plan.tables[name] = std::move(param.sharding);
  }
  CheckPlan(plan, tables);
  return plan;
}

ShardingPlan OwnPlan(const std::string& text, const std::string& path, const RankLayout& layout,
                     std::span<const TableShape> tables) {
  ShardingPlan plan = PlanFromJson(text, path);
  if (plan.world_size != layout.world_size || plan.local_size != layout.local_size)
    throw Error(Format("{}: it is for {} ranks, {} a node; here are {}, {} a node", path,
                       plan.world_size, plan.local_size, layout.world_size, layout.local_size));
  try {
    CheckPlan(plan, tables);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", path, error.what()));
  }
  return plan;
}

}  // namespace

ShardingPlan ParseTorchRecPlan(const std::string& text, const std::string& where,
                               const RankLayout& layout, std::span<const TableShape> tables) {
  try {
    return PlanFrom(IsJson(text) ? ReadModules(internal::ParseJson(text)) : TextReader().Read(text),
                    layout, tables);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", where, error.what()));
  }
}

ShardingPlan ReadPlanFile(const std::string& path, const RankLayout& layout,
                          std::span<const TableShape> tables) {
  const std::string text = ReadTextFile(path);
  const bool own = IsJson(text) && text.find("\"tessera_sharding_plan\"") != std::string::npos;
  return own ? OwnPlan(text, path, layout, tables) : ParseTorchRecPlan(text, path, layout, tables);
}

}  // namespace tessera
