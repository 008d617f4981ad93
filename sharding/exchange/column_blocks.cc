#include "sharding/exchange/column_blocks.h"

#include <algorithm>

#include "runtime/device/dispatch.h"
#include "sharding/exchange/column_blocks_impl.h"

namespace tessera {
namespace {

using internal::BlockPart;

// Parts of a block from `first` on, as many as an item takes.
BlockPart PartOf(const ColumnBlock& block, size_t first, bool by_columns, bool scaled_once) {
  BlockPart part;
  part.piece_columns = by_columns ? 1 : block.columns;
  part.pieces = by_columns ? block.columns : 1;
  part.count = block.num_rows * part.pieces;
  part.wide = block.wide;
  part.stride = block.stride;
  part.columns = block.columns;
  part.adds = first > 0;
  part.rows = block.rows;
  part.offsets = block.offsets;
  part.first_bag = block.first_bag;
  const size_t end = std::min(first + BlockPart::kMaxParts, block.parts.size());
  for (size_t k = first; k < end; ++k) part.parts[part.num_parts++] = block.parts[k];
  part.scales = block.offsets.data != nullptr && (!scaled_once || end == block.parts.size());
  return part;
}

// Calls fn with the first parts of all blocks, then with the next parts, which are added to them.
template <typename Fn>
void ForRounds(Context& ctx, const std::vector<ColumnBlock>& blocks, bool scaled_once,
               const Fn& fn) {
  const bool by_columns = ctx.device() != Device::Cpu();
  for (size_t first = 0;; first += BlockPart::kMaxParts) {
    std::vector<BlockPart> parts;
    for (const ColumnBlock& block : blocks)
      if (block.num_rows > 0 && block.columns > 0 && (first == 0 || first < block.parts.size()))
        parts.push_back(PartOf(block, first, by_columns, scaled_once));
    if (parts.empty()) return;
    fn(std::span<const BlockPart>(parts));
  }
}

}  // namespace

void GatherBlocks(Context& ctx, const std::vector<ColumnBlock>& blocks) {
  ForRounds(ctx, blocks, /*scaled_once=*/true, [&](std::span<const BlockPart> parts) {
    DispatchDevice(ctx.device(), [&](auto on) { internal::GatherParts(on, ctx, parts); });
  });
}

void SpreadBlocks(Context& ctx, const std::vector<ColumnBlock>& blocks) {
  ForRounds(ctx, blocks, /*scaled_once=*/false, [&](std::span<const BlockPart> parts) {
    DispatchDevice(ctx.device(), [&](auto on) { internal::SpreadParts(on, ctx, parts); });
  });
}

namespace internal {
namespace {

// Takes a few rows of all blocks, then the next few: a wide row is written, or read, whole, while
// its pages are near.
template <typename Fn>
void ForEachRow(Context& ctx, std::span<const BlockPart> parts, const Fn& fn) {
  constexpr int64_t kRows = 8, kSlabs = 8;
  int64_t rows = 0;
  for (const BlockPart& part : parts) rows = std::max(rows, part.count);
  ParallelFor(ctx, (rows + kRows - 1) / kRows, kSlabs, [&](int64_t begin, int64_t end) {
    for (int64_t slab = begin; slab < end; ++slab)
      for (const BlockPart& part : parts)
        for (int64_t i = slab * kRows; i < std::min(part.count, (slab + 1) * kRows); ++i)
          fn(part, i);
  });
}

}  // namespace

void GatherParts(OnCpu, Context& ctx, std::span<const BlockPart> parts) {
  ForEachRow(ctx, parts, GatherPiece{});
}
void SpreadParts(OnCpu, Context& ctx, std::span<const BlockPart> parts) {
  ForEachRow(ctx, parts, SpreadPiece{});
}

}  // namespace internal
}  // namespace tessera
