#ifndef TESSERA_TRAIN_PIPELINE_PIPELINED_EMBEDDINGS_H_
#define TESSERA_TRAIN_PIPELINE_PIPELINED_EMBEDDINGS_H_
// The tables of a model as pipelines see them: what of a batch's forward can be done ahead of it.
//
//   InputDist     on another thread: the batch's ids travel to the ranks that have their rows
//   Prefetch      rows are brought into the tables' caches
//   Lookup        rows are looked up, and on ranks travel home
//
//   collection                                 InputDist   Prefetch   Lookup (semi-sync)
//   EmbeddingBag-, EmbeddingCollection         ids stay    yes        yes
//   the same, sharded                          yes         yes        yes
//   ManagedCollision…                          ids stay    —          refused
//   ShardedManagedCollision…                   yes         —          refused
//   …ITEP…, …FeatureProcessed…                 —           —          refused
//
// Rows of raw ids and of pruned tables are found inside the step, in the order of the steps, and a
// feature processor's weights are those that the last step left: of these collections nothing is
// begun ahead that depends on it, and a step has the bits of the plain loop.
//
// The model itself knows nothing of it: what was begun is the answer to the collection's next
// Forward of the same features (embedding/precomputed_forward.h).
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "embedding/embedding_bag_collection.h"
#include "embedding/embedding_collection.h"
#include "embedding/feature_processed_embedding_bag_collection.h"
#include "embedding/itep/itep_embedding.h"
#include "embedding/managed_collision/managed_collision_embedding.h"
#include "embedding/precomputed_forward.h"
#include "runtime/context.h"
#include "sharding/itep/sharded_itep_embedding.h"
#include "sharding/managed_collision/sharded_managed_collision_embedding.h"
#include "sharding/sharded_embedding_bag_collection.h"
#include "sharding/sharded_embedding_collection.h"
#include "sharding/sharded_feature_processed_embedding_bag_collection.h"

namespace tessera {

// Tells all tensors of a KJT that they are used on ctx's stream, too.
void RecordStream(const KeyedJaggedTensor& features, const Context& ctx);

// A batch's ids, and what came of their input_dist (nothing, where they did not travel ahead).
struct InputAhead {
  KeyedJaggedTensor features;
  std::optional<InputDist> dist;
  void RecordStream(const Context& ctx) const;
};

// A lookup under way, whatever its collection returns.
class LookupAhead {
 public:
  virtual ~LookupAhead() = default;
  // Those of what the collection returns that have a gradient, in order. Waits for it.
  virtual std::vector<Variable> Variables() = 0;
  // Others in their places, for use on ctx.
  virtual void Replace(const Context& ctx, std::vector<Variable> variables) = 0;
};

class PipelinedEmbeddings {
 public:
  using Answer = std::function<std::shared_ptr<LookupAhead>(Context&)>;

  virtual ~PipelinedEmbeddings() = default;

  // Whether the collection is on one rank alone.
  virtual bool alone() const = 0;
  // For a thread and a context of its own; batch after batch. Waits for other ranks. Throws Error
  // for weights that need a gradient: it would not find its way back.
  InputAhead InputDist(Context& ctx, const KeyedJaggedTensor& features);

  // The calls below are for the thread that trains. A pipeline begins and ends with these. Begin
  // throws Error, which names both, if ids travel ahead for another pipeline that has not ended:
  // their exchanges would meet.
  void BeginPipeline(const std::string& name);
  void EndPipeline() { pipeline_.clear(); }
  // Makes the collection's next Forward of `features` that `takes` it return what `answer` looks
  // up; returns false if the collection takes no answers.
  virtual bool AnswerNext(const KeyedJaggedTensor& features, Answer answer,
                          TakesPrecomputed takes) = 0;
  virtual void ForgetAnswer() = 0;
  // Looks up, and starts the way home. If ctx has a tape it is a training forward. REQUIRES:
  // answers are taken.
  virtual std::shared_ptr<LookupAhead> Lookup(Context& ctx, const InputAhead& input) = 0;
  // May have a context of its own.
  virtual void Prefetch(Context& ctx, const InputAhead& input) = 0;
  // Like TableBatchedEmbedding's; throws Error where rows can't be looked up ahead.
  virtual void ForgetPrefetched() = 0;
  virtual void AllowForwardsAhead(int forwards) = 0;
  // Returns a function that sets the counters of training forwards back to where they are now.
  virtual std::function<void()> KeepCounters() = 0;

 private:
  virtual std::optional<tessera::InputDist> Distribute(Context& ctx,
                                                       const KeyedJaggedTensor& features) = 0;
  // Whether InputDist exchanges something with other ranks.
  virtual bool ids_travel() const { return false; }

  std::string pipeline_;  // that works ahead now; empty: none
};

// The collection outlives the result, and stays where it is.
std::unique_ptr<PipelinedEmbeddings> Pipelined(EmbeddingBagCollection& collection);
std::unique_ptr<PipelinedEmbeddings> Pipelined(EmbeddingCollection& collection);
std::unique_ptr<PipelinedEmbeddings> Pipelined(ManagedCollisionEmbeddingBagCollection& collection);
std::unique_ptr<PipelinedEmbeddings> Pipelined(ManagedCollisionEmbeddingCollection& collection);
std::unique_ptr<PipelinedEmbeddings> Pipelined(ITEPEmbeddingBagCollection& collection);
std::unique_ptr<PipelinedEmbeddings> Pipelined(ITEPEmbeddingCollection& collection);
std::unique_ptr<PipelinedEmbeddings> Pipelined(FeatureProcessedEmbeddingBagCollection& collection);
// Every rank calls, and ends the results in one order. Ids travel by way of a companion of the
// collection's communicator that the result has for itself: so the calls of the thread that trains,
// and those of each thread that runs ahead, each have one order on all ranks, whichever is faster.
// A result is for one pipeline at a time; a second pipeline, say of an evaluation between steps,
// has one of its own. Under MPI this takes its thread (MpiOptions::comm_thread).
std::unique_ptr<PipelinedEmbeddings> Pipelined(ShardedEmbeddingBagCollection& collection);
std::unique_ptr<PipelinedEmbeddings> Pipelined(ShardedEmbeddingCollection& collection);
std::unique_ptr<PipelinedEmbeddings> Pipelined(
    ShardedManagedCollisionEmbeddingBagCollection& collection);
std::unique_ptr<PipelinedEmbeddings> Pipelined(
    ShardedManagedCollisionEmbeddingCollection& collection);
// For these collections nothing travels ahead.
std::unique_ptr<PipelinedEmbeddings> Pipelined(ShardedITEPEmbeddingBagCollection& collection);
std::unique_ptr<PipelinedEmbeddings> Pipelined(ShardedITEPEmbeddingCollection& collection);
std::unique_ptr<PipelinedEmbeddings> Pipelined(
    ShardedFeatureProcessedEmbeddingBagCollection& collection);

}  // namespace tessera
#endif  // TESSERA_TRAIN_PIPELINE_PIPELINED_EMBEDDINGS_H_
