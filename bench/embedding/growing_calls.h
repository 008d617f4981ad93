#ifndef TESSERA_BENCH_EMBEDDING_GROWING_CALLS_H_
#define TESSERA_BENCH_EMBEDDING_GROWING_CALLS_H_
// A growing table that is read by raw ids, and one of the same rows that is read by their numbers.
//
//   id of number n     n times an odd constant: any 64 bits, each number's its own
//   known ids          numbers 0 … rows − 1: row n + 1 of both tables
//   batches            known ids, as a skew draws them; a share of each may be new ids, in whose
//                      place the table of row numbers reads known rows
#include <memory>
#include <vector>

#include "bench/inputs/skew.h"
#include "embedding/managed_collision/growing_managed_collision_module.h"
#include "embedding/managed_collision/managed_collision_embedding.h"
#include "runtime/tensor.h"

namespace tessera::bench {

struct GrowingShape {
  int64_t rows = 0, dim = 0, batch = 0, pooling = 0;
  Skew skew = {};
  double new_ids = 0;  // share of a batch
  bool full = false;   // no row is left: new ids get those of others
  bool tables = true;  // else there is the index alone
};

class GrowingCalls {
 public:
  GrowingCalls(Context& ctx, const GrowingShape& shape);

  // These take the batch of round `round`, and the new ids that Renew put into it.
  void Find(Context& ctx, int round);
  void Insert(Context& ctx, int round);
  // REQUIRES: with tables.
  void Lookup(Context& ctx, int round);
  void LookupRows(Context& ctx, int round);
  void Step(Context& ctx, int round);
  void StepRows(Context& ctx, int round);
  // Puts new ids into the round's batch, as many as the shape says: before each Insert and Step.
  void Renew(int round);

  // Throws Error unless ids have the rows that they should, and both tables give the same.
  void Check(Context& ctx);
  int64_t num_ids() const { return shape_.batch * shape_.pooling; }
  // Memory of index, rows and states over that of rows and states alone.
  double MemoryShare() const;
  int64_t index_bytes() const { return module_->index().bytes(); }
  double longest_ms() const { return longest_ms_; }  // of Insert and Step

 private:
  static constexpr size_t kBatches = 4;
  size_t At(int round) const { return static_cast<size_t>(round) % kBatches; }
  void FillIndex(Context& ctx);
  void MakeTables(Context& ctx);
  KeyedJaggedTensor Bags(Context& ctx, const Tensor& ids) const;
  TableBatchedEmbedding& growing_table() const {
    return growing_->embedding_bag_collection().tables();
  }

  GrowingShape shape_;
  std::shared_ptr<GrowingManagedCollisionModule> module_;
  std::unique_ptr<ManagedCollisionEmbeddingBagCollection> growing_;
  std::unique_ptr<EmbeddingBagCollection> plain_;
  std::vector<Tensor> ids_, rows_;  // [batch·pooling] i64, of each round
  std::vector<KeyedJaggedTensor> id_bags_, row_bags_;
  int64_t next_new_;
  double longest_ms_ = 0;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_GROWING_CALLS_H_
