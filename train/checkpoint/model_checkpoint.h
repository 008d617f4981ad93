#ifndef TESSERA_TRAIN_CHECKPOINT_MODEL_CHECKPOINT_H_
#define TESSERA_TRAIN_CHECKPOINT_MODEL_CHECKPOINT_H_
// Saves a model of your own, with all that its optimizer remembers, into one safetensors file, and
// goes on from it with the same bits.
//
//   FusedOptimizer optimizer(embeddings.tables(), "embedding_bags");
//   const auto weights = embeddings.tables().rows().weights("embedding_bags");
//   SaveCheckpoint(ctx, "model.safetensors", weights, optimizer, {.step = step});
//   const TrainingProgress saved = LoadCheckpoint(ctx, "model.safetensors", weights, optimizer);
//
// Dense layers join by ValuesOf(mlp.Parameters()), their optimizer by a CombinedOptimizer. Make the
// model that loads as the one that saved was made, from the same seed: stochastic rounding keeps
// the seed that its tables drew. Sharded tables have SaveTables and LoadTables
// (sharding/table_checkpoint.h); tables on disk are refused; a Trainer (train/trainer.h) saves
// more, in the format of train/checkpoint/checkpoint.h.
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "runtime/context.h"
#include "runtime/named_parameter.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera {

// Writes the weights, under their names, every state of the optimizer, as
// "optimizer.<key>.<state>", and where ctx's random numbers stand. `epoch`, `row`, `step` and
// `data` of the progress are the caller's to use; its other fields are not looked at. Throws Error,
// and leaves the file that was there, for two tensors of one name, and where StateDict() does:
// after TableCaches::Flush a table with a cache can be saved.
void SaveCheckpoint(Context& ctx, const std::string& path, const std::vector<NamedTensor>& weights,
                    const Optimizer& optimizer, const TrainingProgress& progress = {});

// Reads what SaveCheckpoint wrote of the same model into `weights`, the optimizer and ctx's random
// numbers; returns the progress. Throws Error, having changed nothing, for a file that has other
// names, shapes or types, lacks the optimizer's state, or says nothing of progress. A growing table
// must have its rows before (TableRows::SetInUse); one with a cache must be flushed.
TrainingProgress LoadCheckpoint(Context& ctx, const std::string& path,
                                const std::vector<NamedTensor>& weights, Optimizer& optimizer);

// Reads the weights alone, from a checkpoint in any form; the file may hold an optimizer's state,
// which is not read. Throws Error, having changed nothing, for other names, shapes or types.
// REQUIRES: no cache holds rows of these tables (TableCaches::Flush, then Reset). Trackers of
// deltas have to be told (TableRows::TouchAll).
void LoadWeights(Context& ctx, const std::string& path, const std::vector<NamedTensor>& weights);

namespace internal {

// Adds tensors that are called "optimizer.<parameter>.<state>". Throws Error for another name.
void AddOptimizerStates(const std::vector<NamedTensor>& tensors, OptimizerStateDict& states);

}  // namespace internal
}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_MODEL_CHECKPOINT_H_
