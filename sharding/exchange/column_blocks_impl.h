#ifndef TESSERA_SHARDING_EXCHANGE_COLUMN_BLOCKS_IMPL_H_
#define TESSERA_SHARDING_EXCHANGE_COLUMN_BLOCKS_IMPL_H_
// The arithmetic of column_blocks.h, for every machine. An item is a few columns of a row.
#include <cstdint>
#include <span>

#include "embedding/lookup/feature_items.h"
#include "embedding/lookup/row_ops.h"
#include "runtime/context.h"
#include "runtime/device/dispatch.h"

namespace tessera::internal {

// A ColumnBlock, or some of its parts.
struct BlockPart {
  static constexpr int kMaxParts = 8;
  int64_t count = 0;  // items: rows times `pieces`
  int64_t pieces = 1, piece_columns = 0;
  float* wide = nullptr;
  int64_t stride = 0, columns = 0;
  float* parts[kMaxParts] = {};
  int num_parts = 0;
  bool adds = false;    // to what earlier parts have left
  bool scales = false;  // only with the last parts
  const int32_t* rows = nullptr;
  IndexArray offsets = {};
  int64_t first_bag = 0;

  TESSERA_HD float* WideRow(int64_t i) const {
    return wide + (rows != nullptr ? rows[i] : i) * stride;
  }
  TESSERA_HD float Scale(int64_t i) const {
    return scales ? MeanScale(offsets[first_bag + i + 1] - offsets[first_bag + i]) : 1.0f;
  }
};

// Calls fn(row, first column, end) for an item.
template <typename Fn>
TESSERA_HD void WithPiece(const BlockPart& block, int64_t item, const Fn& fn) {
  const int64_t row = block.pieces == 1 ? item : item / block.pieces;
  const int64_t begin = (item - row * block.pieces) * block.piece_columns,
                end = begin + block.piece_columns;
  fn(row, begin, end < block.columns ? end : block.columns);
}

struct GatherPiece {
  TESSERA_HD void operator()(const BlockPart& block, int64_t item) const {
    WithPiece(block, item, [&](int64_t row, int64_t begin, int64_t end) {
      float* wide = block.WideRow(row);
      const float scale = block.Scale(row);
      if (block.num_parts == 0 && !block.adds)
        for (int64_t c = begin; c < end; ++c) wide[c] = 0;
      for (int k = 0; k < block.num_parts; ++k) {
        const float* part = block.parts[k] + row * block.columns;
        if (k == 0 && !block.adds)
          for (int64_t c = begin; c < end; ++c) wide[c] = part[c];
        else
          for (int64_t c = begin; c < end; ++c) wide[c] = wide[c] + part[c];
      }
      if (block.scales)
        for (int64_t c = begin; c < end; ++c) wide[c] = wide[c] * scale;
    });
  }
};

struct SpreadPiece {
  TESSERA_HD void operator()(const BlockPart& block, int64_t item) const {
    WithPiece(block, item, [&](int64_t row, int64_t begin, int64_t end) {
      const float* wide = block.WideRow(row);
      const float scale = block.Scale(row);
      for (int k = 0; k < block.num_parts; ++k) {
        float* part = block.parts[k] + row * block.columns;
        for (int64_t c = begin; c < end; ++c) part[c] = scale * wide[c];
      }
    });
  }
};

void GatherParts(OnCpu, Context& ctx, std::span<const BlockPart> parts);
void GatherParts(OnCuda, Context& ctx, std::span<const BlockPart> parts);
void SpreadParts(OnCpu, Context& ctx, std::span<const BlockPart> parts);
void SpreadParts(OnCuda, Context& ctx, std::span<const BlockPart> parts);

}  // namespace tessera::internal
#endif  // TESSERA_SHARDING_EXCHANGE_COLUMN_BLOCKS_IMPL_H_
