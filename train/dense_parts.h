#ifndef TESSERA_TRAIN_DENSE_PARTS_H_
#define TESSERA_TRAIN_DENSE_PARTS_H_
// Tables of the rule dense that ranks share: this rank's parts are variables, which its dense
// optimizer trains beside the parameters that all ranks have alike. What it remembers of them is
// saved as the state of shards, so that checkpoints have it as without ranks.
#include <set>
#include <string>
#include <vector>

#include "optim/gradient_clipping_optimizer.h"
#include "sharding/checkpoint.h"
#include "train/nn/embedding_model.h"

namespace tessera {

// What the dense optimizer of this rank trains: Parameters and DenseParts.
std::vector<NamedParameter> DenseParameters(const EmbeddingModel& model);

// The unsharded names of all tables of the rule dense; none of a model that is not sharded.
std::set<std::string> ShardedDenseTables(const EmbeddingModel& model);

// A norm is of all gradients, of which each rank has a part. Every rank calls, and steps.
GradientClippingOptions OverRanks(GradientClippingOptions options, const EmbeddingModel& model);

// What is saved of `remembered`, a dense optimizer's state: matrices and numbers a row go into the
// shards that they are of; numbers of a whole table are returned, on the rank of its first shard,
// by their names in an unsharded checkpoint. The rest is of no part.
std::vector<NamedTensor> TakeDenseStates(const EmbeddingModel& model,
                                         const OptimizerStateDict& remembered,
                                         std::vector<ShardTensors>& shards);

// The inverse: the state of this rank's parts, as the dense optimizer calls them.
std::vector<NamedTensor> ReadDenseStates(Context& ctx, ShardedCheckpoint& checkpoint,
                                         const EmbeddingModel& model);

}  // namespace tessera
#endif  // TESSERA_TRAIN_DENSE_PARTS_H_
