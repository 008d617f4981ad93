#include "cli/changed_statistics.h"

#include "cli/show/log.h"
#include "optim/any_rule.h"
#include "runtime/base/check.h"
#include "sharding/plan/plan_makers.h"
#include "train/config/train_config.h"

namespace tessera::cli {
namespace {

// The states that count, by the rules of the configuration that is saved beside them.
StatesOfTables CountsIn(const CheckpointIndex& saved) {
  StatesOfTables counts;
  const auto config = saved.info.metadata.find("config");
  if (config == saved.info.metadata.end() || config->second.empty()) return counts;
  try {
    for (const EmbeddingBagConfig& table : ParseTrainConfig(config->second, "config").tables)
      for (const StateSpec& state : RuleStates(table.optimizer))
        if (state.counts) counts.emplace(table.name, state.name);
  } catch (const Error&) {  // one that cannot be read is for those who need it
  }
  return counts;
}

}  // namespace

void SayChangedStatistics(const CheckpointIndex& saved, const ShardingPlan& plan) {
  for (const std::string& sentence : StatisticsChanged(saved, plan, CountsIn(saved)))
    Warn(sentence);
}

void SayChangedStatistics(const CheckpointIndex& saved) {
  SayChangedStatistics(saved, MakeShardingPlan({}, ShapesOf(saved.info), TableWise(0)));
}

}  // namespace tessera::cli
