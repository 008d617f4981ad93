#include "train/groups/rank_groups.h"

#include <algorithm>
#include <string>

#include "optim/any_rule.h"
#include "runtime/base/check.h"
#include "sharding/kernel_location.h"

namespace tessera {
namespace {

[[noreturn]] void Refuse(const std::string& what, const std::string& why) {
  throw Error(Format("--sharding-group-size beside {}: {}; leave one of them out", what, why));
}

void CheckGroupRule(const EmbeddingBagConfig& table) {
  const StateSpecs states = RuleStates(table.optimizer);
  const std::string rule =
      Format("the optimizer {} of table {}", RuleName(table.optimizer), table.name);
  if (std::holds_alternative<Dense>(table.optimizer))
    Refuse(rule, "what the dense optimizer remembers of a table is not averaged over the groups");
  const auto counts = std::ranges::find_if(states, &StateSpec::counts);
  if (counts != states.end())
    Refuse(rule, Format("each group counts its own batches ({}), and their mean counts nothing",
                        counts->name));
  if (std::holds_alternative<CustomRule>(table.optimizer) && states.size() > 0)
    Refuse(rule, "nobody has said that what a plugin's rule remembers can be averaged");
}

}  // namespace

void CheckGroupSize(int ranks, int group_size) {
  if (group_size < 1 || ranks % group_size != 0)
    throw Error(
        Format("--sharding-group-size {}: the {} ranks (--ranks, or those of mpirun) do not fill "
               "groups of {}; expected a divisor",
               group_size, ranks, group_size));
}

std::optional<RankLayout> LayoutOfGroup(const RankLayout& all, int group_size) {
  const int groups = all.world_size / group_size;
  if (all.local_size % groups == 0) return RankLayout{group_size, all.local_size / groups};
  if (groups % all.local_size == 0) return RankLayout{group_size, 1};
  return std::nullopt;
}

void CheckGroupTables(const TrainConfig& config, const ShardingPlan* plan) {
  for (const EmbeddingBagConfig& table : config.tables) {
    CheckGroupRule(table);
    if (config.managed_collision.contains(table.name))
      Refuse("managed_collision of table " + table.name,
             "each group would give its rows to other raw ids");
    if (LocationIn(plan, table.name, table.location) == EmbeddingLocation::kDisk)
      Refuse(Format("table {} on a disk (location DISK, or key_value in a plan)", table.name),
             "copies of tables are averaged in memory");
    if (table.stochastic_rounding)
      Refuse("stochastic_rounding of table " + table.name,
             "the mean of the copies is rounded to nearest, which undoes what chance has rounded");
  }
}

}  // namespace tessera
