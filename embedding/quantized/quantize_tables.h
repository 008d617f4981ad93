#ifndef TESSERA_EMBEDDING_QUANTIZED_QUANTIZE_TABLES_H_
#define TESSERA_EMBEDDING_QUANTIZED_QUANTIZE_TABLES_H_
// Makes tables of stored rows from tables of floats, trained or in a checkpoint.
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "embedding/embedding_bag_collection.h"
#include "embedding/embedding_collection.h"
#include "embedding/quantized/embedding_bag_collection.h"
#include "embedding/quantized/embedding_collection.h"
#include "embedding/quantized/quantized_table.h"
#include "quant/quantize_table.h"
#include "runtime/tensor.h"

namespace tessera::quant {

// A table that is to be quantized.
struct FloatTable {
  std::string name;
  std::vector<std::string> feature_names;
  PoolingType pooling = PoolingType::kSum;
  std::shared_ptr<const IndexRemap> index_remap;
  RowSource rows;
};
// The tables of a collection; they share its storage. Rows are read when they are quantized, with
// what a cache then holds, which is flushed: a table that grows has as many rows as now.
std::vector<FloatTable> FloatTablesOf(const TableBatchedEmbedding& tables);
// Those of a checkpoint, read when they are quantized; `file` must outlive them. A table's rows are
// the entry <prefix><table>.weight, [E, D] as its config says. Throws Error for one that is missing
// or of another shape.
std::vector<FloatTable> FloatTablesOf(const SafetensorsFile& file, const std::string& prefix,
                                      std::span<const EmbeddingBagConfig> configs);
std::vector<FloatTable> FloatTablesOf(const SafetensorsFile& file, const std::string& prefix,
                                      std::span<const EmbeddingConfig> configs);

struct TableQuantization {
  RowCodec codec = {RowType::kInt8};
  // Only so many rows are stored, the first; −1: all. TorchRec's num_embeddings_post_pruning.
  int64_t kept_rows = -1;
  // In place of the float table's.
  std::shared_ptr<const IndexRemap> index_remap = nullptr;
  // f32 [D], which every id without a row reads (quantized_table.h); undefined: none. It is checked
  // for NaN, and counted where it is not finite, as the rows are.
  Tensor default_row = {};
};

struct TablesQuantization {
  TableQuantization all = {};                            // of tables that are not listed
  std::map<std::string, TableQuantization> tables = {};  // by name
  QuantizeOptions options = {};
};

struct QuantizedTables {
  std::vector<QuantizedTable> tables;
  std::vector<QuantizationError> errors;  // of each table's rows
};
// Streams each table: beside the stored rows there is never more than a block of floats. Throws
// Error for a listed table that is not there, a dim that a codec does not take, and NaN (in all
// tables, before any is quantized).
QuantizedTables QuantizeTables(Context& ctx, const std::vector<FloatTable>& tables,
                               const TablesQuantization& how = {});

// A collection of stored rows that answers as the float one does. It takes weights where that one
// does, whatever the options say.
EmbeddingBagCollection Quantize(Context& ctx, const tessera::EmbeddingBagCollection& collection,
                                const TablesQuantization& how = {}, QuantizedOptions options = {});
EmbeddingCollection Quantize(Context& ctx, const tessera::EmbeddingCollection& collection,
                             const TablesQuantization& how = {},
                             EmbeddingCollectionOptions options = {});

}  // namespace tessera::quant
#endif  // TESSERA_EMBEDDING_QUANTIZED_QUANTIZE_TABLES_H_
