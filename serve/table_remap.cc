#include "serve/table_remap.h"

#include <algorithm>
#include <limits>

namespace tessera::serve {
namespace {

constexpr int64_t kNarrow = std::numeric_limits<int32_t>::max();

// Whether every entry of a map or a hash is what it may be.
bool IsSound(const TableRemap& remap, const TableSpec& table) {
  const RemapView view = remap.view();
  int64_t keys = 0;
  for (int64_t i = 0; i < view.size; ++i) {
    const bool hash = remap.kind == RemapKind::kHash;
    const int64_t key = hash ? view.data[2 * i] : i, row = view.data[hash ? 2 * i + 1 : i];
    if (hash && key == -1) continue;
    if (!IsRow(key, table.ids) || (!IsRow(row, table.rows) && (hash || row != -1))) return false;
    ++keys;
  }
  return remap.kind == RemapKind::kArray || keys <= table.rows;
}

}  // namespace

RemapTensor RemapTensorOf(const TableSpec& table) {
  if (table.remap == RemapKind::kArray)
    return {table.rows <= kNarrow ? DType::kI32 : DType::kI64, {table.ids}};
  const int64_t slots = std::max<int64_t>(32, (2 * table.rows + 31) / 32 * 32);
  return {table.ids <= kNarrow ? DType::kI32 : DType::kI64, {slots, 2}};
}

RemapView TableRemap::view() const {
  return {kind, {data.raw_data(), data.dtype() == DType::kI64}, data.dim(0)};
}

TableRemap ReadTableRemap(const MappedTensors& tensors, const TableSpec& table) {
  const RemapTensor expected = RemapTensorOf(table);
  const TableRemap remap{tensors.At(RemapName(table), expected.dtype, expected.shape), table.remap};
  if (!IsSound(remap, table))
    throw Error(Format("{}: tensor '{}': it names ids or rows that table {} does not have",
                       tensors.path(), RemapName(table), table.name));
  return remap;
}

}  // namespace tessera::serve
