#ifndef TESSERA_TESTS_CROSSINGS_TRAINING_PLAN_H_
#define TESSERA_TESTS_CROSSINGS_TRAINING_PLAN_H_
// How the tables of a point of trainings are cut over its ranks.
#include <string>

#include "sharding/plan/plan.h"
#include "tests/crossings/point.h"
#include "train/config/train_config.h"

namespace tessera::testing {

// The plan of a type: a value of the axis "sharding".
ShardingPlan TrainingPlanOf(const Point& point, const TrainConfig& config, const std::string& type);

// Another type with the same blocks of columns.
std::string OtherShardingOf(const std::string& type);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_CROSSINGS_TRAINING_PLAN_H_
