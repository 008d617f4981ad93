#ifndef TESSERA_TRAIN_DENSE_PARTS_H_
#define TESSERA_TRAIN_DENSE_PARTS_H_
// Tables of the rule dense that ranks share: this rank's parts are variables, which its dense
// optimizer trains beside the parameters that all ranks have alike. What it remembers of them is
// saved as the state of shards, so that checkpoints have it as without ranks.
#include <set>
#include <string>
#include <vector>

#include "models/embedding_model.h"
#include "optim/gradient_clipping_optimizer.h"
#include "runtime/context.h"
#include "sharding/checkpoint/checkpoint.h"

namespace tessera {

// Returns what the dense optimizer of this rank trains: Parameters and DenseParts.
std::vector<NamedParameter> DenseParameters(const EmbeddingModel& model);

// The unsharded names of all tables of the rule dense; none of a model that is not sharded.
std::set<std::string> ShardedDenseTables(const EmbeddingModel& model);

// Returns the options for a model whose tables are cut over ranks: a norm is that of the gradients
// of all ranks. Every rank calls, and every rank makes the same steps.
GradientClippingOptions OverRanks(GradientClippingOptions options, const EmbeddingModel& model);

// Moves what `remembered`, a dense optimizer's state, has of tables to where a checkpoint keeps it:
// matrices and numbers a row go into the shards that they belong to; a number of a whole table
// (`step`) is returned, on the rank that has the table's first shard, by its name in an unsharded
// checkpoint. State of other parameters is left out.
std::vector<NamedTensor> TakeDenseStates(const EmbeddingModel& model,
                                         const OptimizerStateDict& remembered,
                                         std::vector<ShardTensors>& shards);

// The inverse: the state of this rank's parts, by the names that the dense optimizer has for them.
std::vector<NamedTensor> ReadDenseStates(Context& ctx, ShardedCheckpoint& checkpoint,
                                         const EmbeddingModel& model);

}  // namespace tessera
#endif  // TESSERA_TRAIN_DENSE_PARTS_H_
