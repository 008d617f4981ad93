#include "serve/export/row_padding.h"

#include <map>
#include <optional>
#include <utility>

namespace tessera::serve {
namespace {

// The first of f32, f16 and int8 that has more bits, but rows of no more bytes.
std::optional<RowCodec> WiderInNoMoreBytes(const RowCodec& codec, int64_t dim) {
  for (const RowType type : {RowType::kF32, RowType::kF16, RowType::kInt8}) {
    const RowCodec wider{type, codec.alignment};
    if (type == codec.type) break;
    if (UnpaddedRowBytes(wider, dim) > UnpaddedRowBytes(codec, dim) &&
        RowBytes(wider, dim) <= RowBytes(codec, dim))
      return wider;
  }
  return {};
}

}  // namespace

std::vector<WastedPadding> FindWastedPadding(const ModelSpec& spec) {
  std::map<std::pair<std::string, int64_t>, int64_t> tables;  // by codec and dim
  for (const TableSpec& table : spec.tables) ++tables[{ToString(table.codec), table.dim}];
  std::vector<WastedPadding> wasted;
  for (const auto& [kind, count] : tables) {
    const auto& [name, dim] = kind;
    const RowCodec codec = ParseRowCodec(name), packed{codec.type, 4};
    const auto wider = WiderInNoMoreBytes(codec, dim);
    if (wider && RowBytes(packed, dim) < RowBytes(codec, dim))
      wasted.push_back({codec, dim, count, *wider, packed});
  }
  return wasted;
}

}  // namespace tessera::serve
