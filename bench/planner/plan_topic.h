#ifndef TESSERA_BENCH_PLANNER_PLAN_TOPIC_H_
#define TESSERA_BENCH_PLANNER_PLAN_TOPIC_H_
// How long planning takes, and how far from its bound the plan is, by tables and ranks: rows by a
// power law, dims of 64 to 256, bags of 1 to 50 ids; 8 H100 a node; TorchRec's formulas. A plan
// takes the same steps on every machine, not the same time.
#include "bench/harness/topic.h"

namespace tessera::bench {

const Topic& PlanTopic();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_PLANNER_PLAN_TOPIC_H_
