#include "bench/topics.h"

#include "bench/comm/comm_topic.h"
#include "bench/data/read_topic.h"
#include "bench/embedding/disk_topic.h"
#include "bench/embedding/growing_topic.h"
#include "bench/embedding/lookup_topic.h"
#include "bench/eviction/eviction_topic.h"
#include "bench/lab/lab_topic.h"
#include "bench/limits/limits_topic.h"
#include "bench/optim/update_topic.h"
#include "bench/planner/plan_topic.h"
#include "bench/quant/quant_topic.h"
#include "bench/serve/serve_topic.h"
#include "bench/sparse/sparse_topic.h"
#include "bench/train/train_topic.h"

namespace tessera::bench {

std::vector<const Topic*> Topics() {
  return {&LookupTopic(), &GrowingTopic(), &UpdateTopic(),   &QuantTopic(), &SparseTopic(),
          &TrainTopic(),  &ReadTopic(),    &CommTopic(),     &PlanTopic(),  &ServeTopic(),
          &LimitsTopic(), &DiskTopic(),    &EvictionTopic(), &LabTopic()};
}

}  // namespace tessera::bench
