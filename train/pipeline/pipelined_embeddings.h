#ifndef TESSERA_TRAIN_PIPELINE_PIPELINED_EMBEDDINGS_H_
#define TESSERA_TRAIN_PIPELINE_PIPELINED_EMBEDDINGS_H_
// The tables of a model as pipelines see them: what of a batch's forward can be done ahead of it.
//
//   InputDist     on another thread: the batch's ids travel to the ranks that have their rows
//   Prefetch      rows are brought into the tables' caches
//   Lookup        rows are looked up, and on ranks travel home
//
// The model itself knows nothing of it: what was begun is the answer to the collection's next
// Forward of the same features (embedding/forward_ahead.h).
#include <functional>
#include <memory>
#include <optional>

#include "comm/awaitable.h"
#include "embedding/embedding_bag_collection.h"
#include "sharding/sharded_embedding_bag_collection.h"

namespace tessera {

// Tells all tensors of a KJT that they are used on ctx's stream, too.
void RecordStream(const KeyedJaggedTensor& features, const Context& ctx);

// A batch's ids, and what came of their input_dist (nothing, for tables that are not sharded).
struct InputAhead {
  KeyedJaggedTensor features;
  std::optional<InputDist> dist;
  void RecordStream(const Context& ctx) const;
};

class PipelinedEmbeddings {
 public:
  virtual ~PipelinedEmbeddings() = default;

  // Whether no other ranks take part.
  virtual bool alone() const = 0;
  // For a thread and a context of its own; batch after batch. Waits for other ranks. Throws Error
  // for weights that need a gradient: it would not find its way back.
  InputAhead InputDist(Context& ctx, const KeyedJaggedTensor& features);

  // The rest is for the thread that trains. Prefetch may have a context of its own.
  virtual void Prefetch(Context& ctx, const InputAhead& input) = 0;
  // Looks up, and starts the way home. If ctx has a tape it is a training forward.
  virtual Awaitable<KeyedTensor> Lookup(Context& ctx, const InputAhead& input) = 0;
  virtual ForwardAhead& ahead() = 0;
  // As TableBatchedEmbedding's.
  virtual void ForgetPrefetched() = 0;
  virtual void AllowForwardsAhead(int forwards) = 0;
  // What sets the counters of training forwards back to where they are now.
  virtual std::function<void()> KeepCounters() = 0;

 private:
  virtual std::optional<tessera::InputDist> Distribute(Context& ctx,
                                                       const KeyedJaggedTensor& features) = 0;
};

// The collection outlives the result, and stays where it is.
std::unique_ptr<PipelinedEmbeddings> Pipelined(EmbeddingBagCollection& collection);
// Every rank calls. Ids travel by way of a companion of the collection's communicator: so the calls
// of the thread that trains, and those of the thread that runs ahead, each have one order on all
// ranks, whichever of the two is faster. One pipeline at a time. Under MPI this takes its thread
// (MpiOptions::comm_thread).
std::unique_ptr<PipelinedEmbeddings> Pipelined(ShardedEmbeddingBagCollection& collection);

}  // namespace tessera
#endif  // TESSERA_TRAIN_PIPELINE_PIPELINED_EMBEDDINGS_H_
