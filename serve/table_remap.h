#ifndef TESSERA_SERVE_TABLE_REMAP_H_
#define TESSERA_SERVE_TABLE_REMAP_H_
// From the ids of a pruned table to its rows, in a model directory: where it lies, and what of it
// was found sound.
#include <vector>

#include "serve/mapped_tensors.h"
#include "serve/model_spec.h"

namespace tessera::serve {

// Of "remap.<name>": i32, i64 for 2^31 rows and more (hash: ids).
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

// Of a pruned table, the ids that have a row, in the order of the rows, ascending. Throws Error for
// rows in another order.
std::vector<int64_t> KeptIds(const TableRemap& remap, const TableSpec& table);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_TABLE_REMAP_H_
