#ifndef TESSERA_EMBEDDING_QUANTIZED_QUANTIZED_TABLE_H_
#define TESSERA_EMBEDDING_QUANTIZED_QUANTIZED_TABLE_H_
// A quantized table, which is only read: its stored rows, and the mapping from ids to them.
//
//   id  -- bounds check --> id  -- index_remap --> row, or none
//
// Without a default row an id that names none adds nothing (a sequence has zeros there), and the
// bounds check says what becomes of ids outside the table. With one, every id but −1 that names no
// row, be it outside the table or pruned, reads the default row; the bounds check only counts those
// outside.
#include <memory>
#include <string>
#include <vector>

#include "embedding/config/pooling.h"
#include "embedding/lookup/index_remap.h"
#include "quant/row_layout.h"
#include "runtime/tensor.h"

namespace tessera {

struct QuantizedTable {
  std::string name;
  int64_t num_embeddings = 0;  // rows that ids, or the remap, name
  int64_t embedding_dim = 0;
  std::vector<std::string> feature_names;
  PoolingType pooling = PoolingType::kSum;
  RowCodec codec;
  // u8 [num_embeddings, RowBytes(codec, embedding_dim)]; with a default row one row more, the last.
  Tensor rows;
  bool has_default_row = false;
  std::shared_ptr<const IndexRemap> index_remap;  // of a pruned table, or null

  // How many ids the data may name.
  int64_t num_ids() const { return index_remap ? index_remap->original_rows() : num_embeddings; }
};

// Throws Error, naming the table, for members that do not fit each other or lie elsewhere than ctx
// works.
void CheckQuantizedTable(const Context& ctx, const QuantizedTable& table);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_QUANTIZED_QUANTIZED_TABLE_H_
