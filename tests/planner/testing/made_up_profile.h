#ifndef TESSERA_TESTS_PLANNER_TESTING_MADE_UP_PROFILE_H_
#define TESSERA_TESTS_PLANNER_TESTING_MADE_UP_PROFILE_H_
// A machine with round prices.
#include "planner/step_model/machine_profile.h"

namespace tessera::testing {

// Two cores for four ranks of one thread. Every field is filled.
inline MachineProfile MadeUpProfile() {
  MachineProfile p;
  p.machine = "made up, 2 cores";
  p.ranks = 4;
  p.cores = 2;
  p.measuring_ranks = 2;
  const RowPriceTable rows = {{64, {{1e6, 2e-9}, {1e8, 1e-8}}}, {256, {{1e6, 4e-9}, {1e8, 2e-8}}}};
  p.lookup = {1e-6, 2e-7, {{64, 4e-9}, {256, 6e-9}}, {{DType::kF32, rows}, {DType::kF16, rows}}};
  p.update = {1e-6, 8e-7, {{64, {{1e5, 5e-9}, {1e7, 8e-9}}}}, {{1e3, 0}, {1e6, 1e-9}}, {}, {}};
  for (const char* rule : {"sgd", "rowwise_adagrad", "adagrad", "adam"}) p.update.rows[rule] = rows;
  p.update.row_type[DType::kF16] = 1.5;
  p.input_dist = {1e-5, 2e-7, 1e-9, 2e-9, 3e-7, 8e-9, 6e-9, 1e-9};
  p.output_dist = {2e-6, 1e-7, 2e-9, 1e-11, 0};
  p.gradient_dist = {2e-6, 1e-7, 2e-9, 1e-10, 1e-10};
  for (const int ranks : {2, 4}) {
    const double latency = 1e-5 * ranks;
    p.collectives.push_back({CollectiveOp::kNumbers, ranks, {{512, latency}}});
    for (const CollectiveOp op :
         {CollectiveOp::kAllToAll, CollectiveOp::kAllGather, CollectiveOp::kAllReduce})
      p.collectives.push_back({op, ranks, {{4096, latency}, {1e6, latency + 1e-3}}});
  }
  p.codecs[WireType::kFp16] = {1e-10, 2e-10};
  p.tiers[ComputeKernel::kFusedUvm] = {0, 1e-9, 1e-9, 4e-11};
  p.tiers[ComputeKernel::kFusedUvmCaching] = {1e-4, 1e-9, 2e-9, 4e-11};
  p.steps = {{2, 1e-5, 1.1, 1.05}, {4, 2e-5, 1.2, 1.1}};
  p.dense = {{1e6, 2e-11}, {1e8, 6e-12}};
  return p;
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_PLANNER_TESTING_MADE_UP_PROFILE_H_
