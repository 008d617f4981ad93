#ifndef TESSERA_EMBEDDING_TABLE_TABLE_BATCH_H_
#define TESSERA_EMBEDDING_TABLE_TABLE_BATCH_H_
// The tables of a TableBatchedEmbedding, and what one KJT brings to them.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "embedding/lookup/bounds_check_report.h"
#include "embedding/table/cached_batch.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/kept_updates.h"
#include "embedding/table/output_layout.h"
#include "runtime/device/scratch_pool.h"
#include "runtime/tensor.h"

namespace tessera::internal {

class TableBatch;
struct Prefetched {
  KeyedJaggedTensor features;
  std::shared_ptr<TableBatch> batch;
};

// All that a TableBatchedEmbedding is. Functions on the tape share it.
struct TablesState {
  std::vector<EmbeddingTable> tables;
  std::vector<EmbeddingFeature> features;
  TableBatchedEmbeddingOptions options;
  int64_t iter = 0;
  BoundsCheckLog findings;  // of the bounds check, on the tables' device
  int updates_pending = 0;  // training forwards that wait for their backward
  int max_updates_pending = 1;
  KeptUpdates kept;                   // of the micro-batches of the step
  std::deque<Prefetched> prefetched;  // in the order of their forwards to come

  const EmbeddingTable& table_of(size_t feature) const {
    return tables[static_cast<size_t>(features[feature].table)];
  }
  EmbeddingTable& at(int index) {
    TESSERA_CHECK(index >= 0 && index < std::ssize(tables), "table {}: there are {}", index,
                  tables.size());
    return tables[static_cast<size_t>(index)];
  }
  void CheckForwardIsStep(std::string_view what) const;  // as TableBatchedEmbedding's
};

// Tables by the step t that their rules count: tables of one step are updated by one call.
using TablesByStep = std::map<int64_t, ScratchVector<UpdateTable>, std::less<int64_t>,
                              Recycling<std::pair<const int64_t, ScratchVector<UpdateTable>>>>;

// The tensors that a lookup fills, or that backward reads in their place.
struct OutputTensors {
  Tensor pooled;  // of the layout's distinct shape
  std::vector<Tensor> sequences;
};

// Returns, for each feature, what it reads of the KJT and what it gives.
ScratchVector<FeatureShape> ShapesOf(const TablesState& state, const KeyedJaggedTensor& kjt);

// Ids (mended where the bounds check says so), offsets, weights. Holds the tensors.
class TableBatch {
 public:
  // Throws Error for keys or weights that are missing and, in mode FATAL, for a bad id.
  TableBatch(Context& ctx, const TablesState& state, const KeyedJaggedTensor& kjt)
      : TableBatch(ctx, state, kjt, state.findings) {}
  // `findings`: where the bounds check counts; none for ids that were counted before.
  TableBatch(Context& ctx, const TablesState& state, const KeyedJaggedTensor& kjt,
             const BoundsCheckLog& findings);

  const OutputLayout& layout() const { return layout_; }
  int64_t num_ids() const { return num_ids_; }
  const CachedBatch& cached() const { return cached_; }
  // Starts the rows that the batch names, in tables whose rows take memory as they come into use.
  void StartRows(const TablesState& state) const;
  // For a batch that was made on another context.
  void RecordStream(const Context& ctx) const;

  // One a part of the layout, with its place in `tensors`.
  ScratchVector<LookupFeature> Features(const TablesState& state,
                                        const OutputTensors& tensors) const;
  // Their call, with the batch's weights.
  LookupArgs Args(std::span<const LookupFeature> features) const;
  // Table `index` and the parts that read it.
  UpdateTable UpdateOf(const TablesState& state, int index) const;

 private:
  TableBatch(Context& ctx, const TablesState& state, const KeyedJaggedTensor& kjt,
             std::span<const FeatureShape> shapes, const BoundsCheckLog& findings);

  Tensor offsets_, weights_;
  std::vector<Tensor> ids_;  // of each feature; slots of the cache, if its table has one
  CachedBatch cached_;
  struct OnUse {
    size_t feature;
    int64_t begin, end;  // of its own ids
  };
  std::vector<OnUse> on_use_;  // features that read such tables
  OutputLayout layout_;
  int64_t num_ids_ = 0;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_TABLE_TABLE_BATCH_H_
