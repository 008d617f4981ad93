#ifndef TESSERA_EMBEDDING_LOOKUP_ROW_ACCESS_IMPL_H_
#define TESSERA_EMBEDDING_LOOKUP_ROW_ACCESS_IMPL_H_
// The function that one thread runs for row_access.h, and the devices' overloads.
#include "embedding/lookup/element.h"
#include "embedding/lookup/row_ops.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// Rows of `dim` elements each.
struct RowArray {
  void* data;
  DType type;
  int64_t dim;
};

// Element i of the rows read.
struct GatherElement {
  RowArray table;
  IndexArray ids;
  float* out;
  TESSERA_HD void operator()(int64_t i) const {
    out[i] = LoadElement(table.data, table.type, ids[i / table.dim] * table.dim + i % table.dim);
  }
};

// Element i of the rows written, in the order of the sorted ids: of those that are the same, the
// last one writes.
struct ScatterElement {
  RowArray table;
  const uint64_t* ids;     // [n], rising
  const uint32_t* places;  // which of the rows goes to ids[k]
  int64_t n;
  const float* rows;  // null: all elements are `value`
  float value;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t k = i / table.dim, column = i % table.dim;
    if (k + 1 < n && ids[k + 1] == ids[k]) return;
    StoreElement(table.data, table.type, static_cast<int64_t>(ids[k]) * table.dim + column,
                 rows != nullptr ? rows[int64_t{places[k]} * table.dim + column] : value);
  }
};

// Unit i of rows of any type, `units` of them to a row; as ScatterElement otherwise.
template <typename Unit>
struct ScatterUnit {
  Unit* table;
  int64_t units;
  const uint64_t* ids;
  const uint32_t* places;
  int64_t n;
  const Unit* rows;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t k = i / units, unit = i % units;
    if (k + 1 < n && ids[k + 1] == ids[k]) return;
    table[static_cast<int64_t>(ids[k]) * units + unit] = rows[int64_t{places[k]} * units + unit];
  }
};

// Ids [n] and where each of them stood, sorted by id; stable.
struct SortedIds {
  Tensor memory[4];  // of the two arrays, and what the sort needs
  const uint64_t* ids = nullptr;
  const uint32_t* places = nullptr;
};
SortedIds SortIds(OnCpu, Context& ctx, IndexArray ids, int64_t n, int64_t rows);
SortedIds SortIds(OnCuda, Context& ctx, IndexArray ids, int64_t n, int64_t rows);

// The place of the first id outside [0, rows), or n.
int64_t FirstBadId(OnCpu, Context& ctx, IndexArray ids, int64_t n, int64_t rows);
int64_t FirstBadId(OnCuda, Context& ctx, IndexArray ids, int64_t n, int64_t rows);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_LOOKUP_ROW_ACCESS_IMPL_H_
