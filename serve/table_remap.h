#ifndef TESSERA_SERVE_TABLE_REMAP_H_
#define TESSERA_SERVE_TABLE_REMAP_H_
// Maps the ids of a pruned table to its rows, in a model directory: where the map lies, and the
// checks it passed.
#include <vector>

#include "runtime/tensor.h"
#include "serve/mapped_tensors.h"
#include "serve/model_spec.h"

namespace tessera::serve {

// The tensor "remap.<name>": i32, or i64 for 2^31 rows and more (hash: ids).
struct RemapTensor {
  DType dtype;
  Shape shape;
};
RemapTensor RemapTensorOf(const TableSpec& table);

struct TableRemap {
  Tensor data;  // mapped
  RemapKind kind = RemapKind::kArray;

  RemapView view() const;
};
// Throws Error, naming the file, for data that are not there, name rows or ids that don't exist, or
// a hash that is so full that a search in it need not end.
TableRemap ReadTableRemap(const MappedTensors& tensors, const TableSpec& table);

// Returns the ids of a pruned table that have a row, in the order of the rows, ascending. Throws
// Error for rows in another order.
std::vector<int64_t> KeptIds(const TableRemap& remap, const TableSpec& table);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_TABLE_REMAP_H_
