#ifndef TESSERA_SHARDING_DISTRIBUTED_MODEL_PARALLEL_H_
#define TESSERA_SHARDING_DISTRIBUTED_MODEL_PARALLEL_H_
// Data parallelism for dense parameters, beside sharded tables: all ranks start with rank 0's
// values and take the mean of all ranks' gradients. In two-dimensional parallelism, copies of the
// tables are averaged now and then.
//
//   DistributedModelParallel parallel(ctx, comm, model.Parameters());
//   …
//   parallel.Overlap(ctx, tape);
//   tape.Backward(loss);            // sharded tables are updated here
//   parallel.AverageGradients(ctx);
//   dense_optimizer.Step(ctx);
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "quant/wire_codec.h"
#include "runtime/named_parameter.h"
#include "runtime/tensor.h"
#include "sharding/sharded_tables.h"

namespace tessera {

struct DistributedModelParallelOptions {
  // Gradients are summed in buckets of about so many bytes, all of which are on their way at once.
  // The first, of the last parameters, is smaller, to be on its way early.
  int64_t bucket_bytes = int64_t{25} << 20, first_bucket_bytes = int64_t{1} << 20;
  bool average = true;  // false: sums
  // How gradients travel (TorchRec's allreduce_comm_precision); under any codec all ranks get the
  // same bits.
  WireCodec codec = {};
};

class DistributedModelParallel {
 public:
  // Every rank gets rank 0's values. REQUIRES: the same parameters, in the same order, on all
  // ranks; f32. Throws Error, on every rank, if names or shapes differ.
  DistributedModelParallel(Context& ctx, Communicator& comm, std::vector<NamedParameter> parameters,
                           DistributedModelParallelOptions options = {});

  // Sends each bucket in `tape`'s Backward, as soon as its gradients are there, instead of in
  // AverageGradients, so that exchange and computation overlap. If several backward passes add up
  // gradients, call it for the last. Every rank calls. REQUIRES: ranks record the same ops; this
  // outlives the Backward.
  void Overlap(Context& ctx, Tape& tape);

  // Makes grad() of every parameter the mean over the ranks (the sum without `average`); a rank
  // without a gradient counts as 0. A parameter of which no rank has one stays without, so that
  // optimizers leave it as it is. Sums are in the order of the ranks. Every rank calls.
  void AverageGradients(Context& ctx);

 private:
  // Parameters [begin, end).
  struct Bucket {
    size_t begin, end, ready = 0;
    Awaitable<Tensor> sum = {};
  };
  void MakeBuckets();
  void CountReady(Context& ctx, const Variable& variable);
  void StartBucket(Context& ctx);
  // Returns how many ranks have a gradient of each parameter, as far as this rank needs to know:
  // above 0 where it has one itself.
  std::vector<float> RanksWithGradients(Context& ctx);

  Communicator& comm_;
  std::vector<NamedParameter> parameters_;
  DistributedModelParallelOptions options_;
  std::vector<Bucket> buckets_;  // from the last parameters to the first, as backward meets them
  size_t started_ = 0;           // buckets
  // For each parameter 1 if this rank has a gradient of it in this step, else 0; had_ is what
  // has_tensor_ holds.
  std::vector<float> has_, had_;
  Tensor has_tensor_;
};

// Two dimensions: the world is cut into groups that each hold all tables, and between them are the
// ranks that hold the same part (TorchRec's DMPCollection). For 6 ranks in groups of 3:
//
//   sharding groups   0 2 4   1 3 5        replicas   0 1   2 3   4 5
struct TwoDimensionalGroups {
  std::unique_ptr<Communicator> sharding, replicas;
};
// Every rank calls. REQUIRES: sharding_size divides world.size().
TwoDimensionalGroups MakeTwoDimensionalGroups(Communicator& world, int sharding_size);

// Replaces every part of a table that this rank holds, and with `states` its optimizer states, by
// the mean over `replicas`, the same bits on all. A number that all replicas agree on keeps its
// bits. Between two calls the copies train independently. Rows and states of 16 bits are averaged
// in f32, and rounded to nearest. No more than a few MiB travel at a time. A ModelDeltaTracker
// counts all rows as touched. Throws Error for a table on disk. Every rank calls.
void AverageReplicas(Context& ctx, Communicator& replicas, const ShardedTables& tables,
                     bool states = false);

}  // namespace tessera
#endif  // TESSERA_SHARDING_DISTRIBUTED_MODEL_PARALLEL_H_
