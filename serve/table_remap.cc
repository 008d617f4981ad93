#include "serve/table_remap.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace tessera::serve {
namespace {

constexpr int64_t kNarrow = std::numeric_limits<int32_t>::max();

// Entry i of a map or a hash; an empty slot has id −1.
RemapEntry EntryAt(const TableRemap& remap, const RemapView& view, int64_t i) {
  if (remap.kind == RemapKind::kArray) return {i, view.data[i]};
  return {view.data[2 * i], view.data[2 * i + 1]};
}

// Whether every entry of a map or a hash is valid.
bool IsSound(const TableRemap& remap, const TableSpec& table) {
  const RemapView view = remap.view();
  int64_t keys = 0;
  for (int64_t i = 0; i < view.size; ++i) {
    const bool hash = remap.kind == RemapKind::kHash;
    const auto [key, row] = EntryAt(remap, view, i);
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

std::vector<int64_t> KeptIds(const TableRemap& remap, const TableSpec& table) {
  std::vector<int64_t> ids(static_cast<size_t>(table.rows));
  const RemapView view = remap.view();
  for (int64_t i = 0; i < view.size; ++i) {
    const auto [id, row] = EntryAt(remap, view, i);
    if (id != -1 && row != -1) ids[static_cast<size_t>(row)] = id;
  }
  if (std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) != ids.end())
    throw Error(Format("table {}: expected its rows in the order of their ids", table.name));
  return ids;
}

}  // namespace tessera::serve
