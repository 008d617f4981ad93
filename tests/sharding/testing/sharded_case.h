#ifndef TESSERA_TESTS_SHARDING_TESTING_SHARDED_CASE_H_
#define TESSERA_TESTS_SHARDING_TESTING_SHARDED_CASE_H_
// Three small tables, plans of every type for them, and batches and gradients drawn for each rank:
// what tests of sharded tables feed both to shards and to one table.
#include <random>
#include <string>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "runtime/autograd.h"
#include "sharding/plan/plan.h"
#include "tests/testing/rank_batches.h"

namespace tessera::testing {

using Numbers = std::vector<int64_t>;

inline constexpr int kTypes = 7, kMixed = kTypes, kSteps = 3;
inline constexpr int kRules = 4, kCounterRule = 3;

struct Combination {
  int type = 0;  // a ShardingType, or kMixed: another one for each table
  PoolingType pooling = PoolingType::kSum;
  bool weighted = false, variable = false;
  int rule = 0;  // below kRules
  int world = 1;
  DType row_type = DType::kF32;

  std::string Name() const {
    return Format("type {}, pooling {}, {}, {}, rule {}, {} ranks",
                  type == kMixed ? "mixed" : ToString(static_cast<ShardingType>(type)),
                  ToString(pooling), weighted ? "weighted" : "not weighted",
                  variable ? "variable batch" : "one batch", rule, world);
  }
};

struct TestTable {
  std::string name;
  int64_t rows, dim;
  std::vector<std::string> keys;
};
const std::vector<TestTable>& Tables();
const std::vector<std::string>& Keys();  // of every batch, in its order
std::vector<EmbeddingFeature> Features();

// Blocks of columns are uneven; under kMixed each table has another type.
ShardingPlan PlanOf(const Combination& c);

RankBatch DrawBatch(std::mt19937& random, const Combination& c);
// The bags of ranks [first, end) as one KJT.
KeyedJaggedTensor KjtOf(Context& ctx, const Combination& c, const std::vector<RankBatch>& batches,
                        size_t first, size_t end);
// Gradients of what a rank gets, on the host: pooled [examples, ΣD], or [N_f, D] a feature.
std::vector<Tensor> DrawGradients(std::mt19937& random, const Combination& c,
                                  const RankBatch& batch);

BaseEmbeddingConfig ConfigOf(const Combination& c, const TestTable& t);
Tensor FirstWeights(const TestTable& t);  // [rows, dim], on the host

// Runs backward from the sum of outputs times their gradients.
void BackwardAll(Context& ctx, Tape& tape, const std::vector<Variable>& outputs,
                 const std::vector<Tensor>& grads);
// Rows of all parts, on the host.
Tensor OnHostRows(const std::vector<Tensor>& parts);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_SHARDING_TESTING_SHARDED_CASE_H_
