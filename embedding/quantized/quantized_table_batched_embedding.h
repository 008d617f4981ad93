#ifndef TESSERA_EMBEDDING_QUANTIZED_QUANTIZED_TABLE_BATCHED_EMBEDDING_H_
#define TESSERA_EMBEDDING_QUANTIZED_QUANTIZED_TABLE_BATCHED_EMBEDDING_H_
// Many tables of stored rows behind one call: what FBGEMM's IntNBitTableBatchedEmbeddingBagsCodegen
// is. Nothing is recorded and nothing changes, so several threads may call Forward at a time, each
// with a context of its own.
#include <memory>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "embedding/lookup/bounds_check_report.h"
#include "embedding/quantized/quantized_table.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

namespace internal {
struct QuantizedState;
}

struct QuantizedOptions {
  bool weighted = false;  // uses the KJT's weights of ids; false: ignores them
  BoundsCheckMode bounds_check = BoundsCheckMode::kFatal;
  // f32, f16 or bf16; u8, for tables of int8 rows with pooling NONE alone: the stored rows
  // themselves, without padding.
  DType output_type = DType::kF32;
};

struct QuantizedOutputs {
  Tensor pooled;                  // undefined if every table has pooling NONE
  std::vector<Tensor> sequences;  // of the features whose tables have pooling NONE, in order
};

class QuantizedTableBatchedEmbedding {
 public:
  // Throws Error for tables that are not sound (CheckQuantizedTable), repeated names, features of
  // unknown tables, weights for sequences, and outputs that the tables cannot give.
  QuantizedTableBatchedEmbedding(Context& ctx, std::vector<QuantizedTable> tables,
                                 std::vector<EmbeddingFeature> features,
                                 QuantizedOptions options = {});
  ~QuantizedTableBatchedEmbedding();
  QuantizedTableBatchedEmbedding(QuantizedTableBatchedEmbedding&&) noexcept;
  QuantizedTableBatchedEmbedding& operator=(QuantizedTableBatchedEmbedding&&) noexcept;

  // Pooled: as TableBatchedEmbedding::Forward, from the decoded rows and with their bits.
  // Sequences: [N_f, D] each; u8: [N_f, bytes of a row]. Throws Error for missing keys or weights
  // and, in mode FATAL, for a bad id.
  QuantizedOutputs Forward(Context& ctx, const KeyedJaggedTensor& kjt) const;

  const std::vector<QuantizedTable>& tables() const;
  const std::vector<EmbeddingFeature>& features() const;
  const QuantizedOptions& options() const;
  // Bytes of the stored rows, without remaps.
  int64_t nbytes() const;
  // Returns what the bounds check counted by feature, in mode WARNING or for tables with a default
  // row. Waits for the device.
  BoundsCheckReport bounds_check_report() const;

 private:
  std::unique_ptr<internal::QuantizedState> state_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_QUANTIZED_QUANTIZED_TABLE_BATCHED_EMBEDDING_H_
