#ifndef TESSERA_EMBEDDING_QUANTIZED_QUANTIZED_STATE_H_
#define TESSERA_EMBEDDING_QUANTIZED_QUANTIZED_STATE_H_
// The steps of a quantized forward before stored rows are read: from ids to rows (bounds check,
// remap, default row), and the layout of the outputs. Nothing but the log of findings changes,
// under a lock of its own.
#include <mutex>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "embedding/lookup/bounds_check_report.h"
#include "embedding/quantized/quantized_table.h"
#include "embedding/quantized/quantized_table_batched_embedding.h"
#include "embedding/table/output_layout.h"
#include "runtime/tensor.h"

namespace tessera::internal {

struct QuantizedState {
  // Throws Error for repeated names, features of unknown tables, weights for sequences, and outputs
  // that the tables cannot give. Stored rows are not looked at.
  QuantizedState(Context& ctx, std::vector<QuantizedTable> the_tables,
                 std::vector<EmbeddingFeature> the_features, QuantizedOptions the_options);

  // For each feature a tensor in which its own range names stored rows, the default row among them,
  // or is −1.
  std::vector<Tensor> RowsOf(Context& ctx, const KeyedJaggedTensor& kjt);
  OutputLayout LayoutOfOutputs(const KeyedJaggedTensor& kjt) const;
  // Per-sample weights of a batch, or none.
  Tensor WeightsOf(Context& ctx, const KeyedJaggedTensor& kjt) const;
  // Throws Error for a batch that lies elsewhere than ctx works, or has no integers for ids.
  void CheckBatch(Context& ctx, const KeyedJaggedTensor& kjt, const Tensor& weights) const;

  size_t index_of(size_t feature) const { return static_cast<size_t>(features[feature].table); }
  const QuantizedTable& table_of(size_t feature) const { return tables[index_of(feature)]; }
  const RowLayout& layout_of(size_t feature) const { return layouts[index_of(feature)]; }

  std::vector<QuantizedTable> tables;
  std::vector<RowLayout> layouts;  // of the tables
  std::vector<EmbeddingFeature> features;
  QuantizedOptions options;
  BoundsCheckLog findings;
  std::mutex findings_mutex;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_QUANTIZED_QUANTIZED_STATE_H_
