#ifndef TESSERA_BENCH_EMBEDDING_MODULE_CALLS_H_
#define TESSERA_BENCH_EMBEDDING_MODULE_CALLS_H_
// Forwards through the classes that users hold: an EmbeddingBagCollection (for sequences a
// TableBatchedEmbedding alone), the TableBatchedEmbedding inside it, and batches as
// KeyedJaggedTensors.
#include <memory>
#include <vector>

#include "bench/embedding/workload.h"
#include "embedding/embedding_bag_collection.h"
#include "runtime/tensor.h"

namespace tessera::bench {

class ModuleCalls {
 public:
  ModuleCalls(Context& ctx, const Shape& shape);

  // These take the batch of round `round`.
  void CallTables(Context& ctx, int round);
  // REQUIRES: has_collection().
  void CallCollection(Context& ctx, int round);
  bool has_collection() const { return collection_ != nullptr; }

  // Throws Error unless both give what the obvious loop does.
  void Check(Context& ctx);
  int64_t num_ids() const { return batches_[0].values().numel(); }

 private:
  const KeyedJaggedTensor& Batch(int round) const {
    return batches_[static_cast<size_t>(round) % batches_.size()];
  }
  TableBatchedEmbedding& Tables() { return collection_ ? collection_->tables() : *tables_; }
  // outputs: the pooled one, or one a table.
  void CheckOutputs(Context& ctx, const std::vector<Tensor>& outputs);

  Shape shape_;
  std::unique_ptr<EmbeddingBagCollection> collection_;
  std::unique_ptr<TableBatchedEmbedding> tables_;  // where there is no collection
  std::vector<KeyedJaggedTensor> batches_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_MODULE_CALLS_H_
