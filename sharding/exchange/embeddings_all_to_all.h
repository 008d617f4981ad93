#ifndef TESSERA_SHARDING_EXCHANGE_EMBEDDINGS_ALL_TO_ALL_H_
#define TESSERA_SHARDING_EXCHANGE_EMBEDDINGS_ALL_TO_ALL_H_
// Exchanges rows of embeddings between ranks, in TorchRec's layouts, with gradients. Sharded
// collections have a way of their own (output_dist.h); these are for modules outside the library.
//
// Each is a matrix cut into one part a rank, exchanged, and joined; its backward is its transpose,
// the same with both ends swapped, times 1/R under gradient_division:
//
//   PooledEmbeddingsAllToAll       cut by rows     joined by columns
//   SequenceEmbeddingsAllToAll     cut by rows     joined by rows
//   PooledEmbeddingsReduceScatter  cut by rows     parts added
//   PooledEmbeddingsAllGather      sent to all     joined by rows
//   EmbeddingsAllToOne             sent to one     joined by columns or rows
//
// and, where keys have batches of their own, VariableBatchPooledEmbeddingsAllToAll of flat rows.
//
// Sums are in the order of the ranks. Embeddings are f32 and must not be changed afterwards; parts
// travel as the codecs say, a rank's own too. Every rank makes the same calls. For gradients, every
// rank must record a tape, its embeddings must require one, and its loss must depend on its result.
#include <vector>

#include "comm/communicator.h"
#include "quant/wire_codec.h"
#include "runtime/autograd.h"

namespace tessera {

struct EmbeddingsExchangeOptions {
  WireCodecs codecs = {};
  // Gradients are divided by the number of ranks, as TorchRec does; false: as they are.
  bool gradient_division = true;
};

class PooledEmbeddingsAllToAll {
 public:
  // dims: D_r, the columns that rank r looks up; the same on all ranks.
  PooledEmbeddingsAllToAll(Communicator& comm, std::vector<int64_t> dims,
                           EmbeddingsExchangeOptions options = {});
  // embeddings [ΣB_r, D_rank], the rows of rank 0's examples first -> [B_rank, ΣD]. batches: B_r.
  Awaitable<Variable> Start(Context& ctx, const Variable& embeddings,
                            const std::vector<int64_t>& batches) const;

 private:
  Communicator& comm_;
  std::vector<int64_t> dims_;
  EmbeddingsExchangeOptions options_;
};

// PooledEmbeddingsAllToAll for features with batches of their own. Flat: matrices [bags, D] of a
// feature, one after another, by rank and in a rank by feature.
class VariableBatchPooledEmbeddingsAllToAll {
 public:
  // dims: [rank][feature], D of the features that a rank looks up; the same on all ranks.
  VariableBatchPooledEmbeddingsAllToAll(Communicator& comm, std::vector<std::vector<int64_t>> dims,
                                        EmbeddingsExchangeOptions options = {});
  // embeddings: this rank's features for the bags of rank 0, then rank 1, … -> the features of rank
  // 0, then rank 1, … for this rank's own bags. batches[r][f]: bags that rank r has of this rank's
  // feature f. own_batches: bags that this rank has of each feature, in the order of the result.
  Awaitable<Variable> Start(Context& ctx, const Variable& embeddings,
                            const std::vector<std::vector<int64_t>>& batches,
                            const std::vector<int64_t>& own_batches) const;

 private:
  Communicator& comm_;
  std::vector<std::vector<int64_t>> dims_;
  EmbeddingsExchangeOptions options_;
};

class PooledEmbeddingsReduceScatter {
 public:
  explicit PooledEmbeddingsReduceScatter(Communicator& comm, EmbeddingsExchangeOptions options = {})
      : comm_(comm), options_(options) {}
  // Partial sums [ΣB_r, D], the same shape on all ranks -> [B_rank, D]: this rank's rows, summed.
  Awaitable<Variable> Start(Context& ctx, const Variable& embeddings,
                            const std::vector<int64_t>& batches) const;

 private:
  Communicator& comm_;
  EmbeddingsExchangeOptions options_;
};

class PooledEmbeddingsAllGather {
 public:
  explicit PooledEmbeddingsAllGather(Communicator& comm, EmbeddingsExchangeOptions options = {})
      : comm_(comm), options_(options) {}
  // [B_rank, D] -> [ΣB_r, D], the rows of rank 0 first.
  Awaitable<Variable> Start(Context& ctx, const Variable& embeddings,
                            const std::vector<int64_t>& batches) const;

 private:
  Communicator& comm_;
  EmbeddingsExchangeOptions options_;
};

class SequenceEmbeddingsAllToAll {
 public:
  explicit SequenceEmbeddingsAllToAll(Communicator& comm, EmbeddingsExchangeOptions options = {})
      : comm_(comm), options_(options) {}
  // [Σ send, D], rows for rank 0 first -> [Σ receive, D], rows from rank 0 first. send, receive:
  // rows for, and from, each rank.
  Awaitable<Variable> Start(Context& ctx, const Variable& embeddings,
                            const std::vector<int64_t>& send,
                            const std::vector<int64_t>& receive) const;

 private:
  Communicator& comm_;
  EmbeddingsExchangeOptions options_;
};

class EmbeddingsAllToOne {
 public:
  // rows, columns: of every rank's embeddings; the same on all ranks. join_dim 1: all have the same
  // rows; 0: the same columns.
  EmbeddingsAllToOne(Communicator& comm, std::vector<int64_t> rows, std::vector<int64_t> columns,
                     int join_dim, int root = 0, EmbeddingsExchangeOptions options = {});
  // [rows, columns] of this rank -> on the root all, joined in the order of the ranks; on the
  // others a matrix without rows.
  Awaitable<Variable> Start(Context& ctx, const Variable& embeddings) const;

 private:
  Communicator& comm_;
  std::vector<int64_t> rows_, columns_;
  int join_dim_, root_;
  EmbeddingsExchangeOptions options_;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_EXCHANGE_EMBEDDINGS_ALL_TO_ALL_H_
