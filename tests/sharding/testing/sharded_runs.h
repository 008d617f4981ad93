#ifndef TESSERA_TESTS_SHARDING_TESTING_SHARDED_RUNS_H_
#define TESSERA_TESTS_SHARDING_TESTING_SHARDED_RUNS_H_
// The steps of a case (sharded_case.h) without and with shards, and what is compared of them.
#include <map>
#include <string>
#include <vector>

#include "sharding/sharded_tables.h"
#include "tests/sharding/testing/sharded_case.h"

namespace tessera::testing {

struct Steps {
  std::vector<std::vector<RankBatch>> batches;          // [step][rank]
  std::vector<std::vector<std::vector<Tensor>>> grads;  // [step][rank][output]
};
Steps DrawSteps(std::mt19937& random, const Combination& c);

// All that is compared, on the host.
struct Result {
  std::vector<std::vector<Tensor>> outputs;  // [step][output], ranks joined
  std::vector<Tensor> weight_grads;          // [step]
  std::map<std::string, Tensor> tables;      // whole; states as "t0.momentum1", a row a block
};

// Runs without shards: one process, fed with the bags of all ranks in their order, a table for each
// block of columns of `plan`.
Result RunWhole(Context& ctx, const Combination& c, const ShardingPlan& plan, const Steps& steps);
// Runs on ranks that are threads, each with a context of its own on `device`.
Result RunSharded(Device device, const Combination& c, const ShardingPlan& plan, const Steps& steps,
                  const ShardingOptions& sharding = {});

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_SHARDING_TESTING_SHARDED_RUNS_H_
