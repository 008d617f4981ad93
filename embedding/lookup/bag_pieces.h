#ifndef TESSERA_EMBEDDING_LOOKUP_BAG_PIECES_H_
#define TESSERA_EMBEDDING_LOOKUP_BAG_PIECES_H_
// The bags of all features of a lookup, cut into pieces of work for the threads of a CPU.
#include <algorithm>
#include <cstdint>
#include <span>

#include "embedding/config/pooling.h"
#include "embedding/lookup/row_ops.h"
#include "runtime/context.h"
#include "runtime/device/scratch_pool.h"

namespace tessera::internal {

// Bags [begin, end) of a feature, counted from its first.
struct BagPiece {
  size_t feature;
  int64_t begin, end;
};

struct BagPieces {
  ScratchVector<BagPiece> pieces;
  int64_t bytes = 0;    // that are read and written
  bool stream = false;  // the output is so large that it is written past the caches
};

// Feature: has first_bag, num_bags and pooling. row_bytes(f) and output_bytes(f): of one row that
// is read, and written.
template <typename Feature, typename RowBytes, typename OutputBytes>
BagPieces CutBags(std::span<const Feature> features, IndexArray offsets, const RowBytes& row_bytes,
                  const OutputBytes& output_bytes) {
  // Bytes of rows that one piece reads: some 100 us of work.
  constexpr int64_t kPieceBytes = 1 << 20;
  // Outputs larger than this leave the second-level cache before anybody reads them.
  constexpr int64_t kStreamBytes = 2 << 20;
  BagPieces cut;
  int64_t all_written = 0;
  for (size_t i = 0; i < features.size(); ++i) {
    const Feature& f = features[i];
    const int64_t ids = offsets[f.first_bag + f.num_bags] - offsets[f.first_bag];
    const int64_t written = (f.pooling == PoolingType::kNone ? ids : f.num_bags) * output_bytes(f),
                  bytes = ids * row_bytes(f) + written;
    all_written += written;
    cut.bytes += bytes;
    const int64_t count =
        std::clamp<int64_t>(bytes / kPieceBytes, 1, std::max<int64_t>(f.num_bags, 1));
    for (int64_t k = 0; k < count; ++k) {
      const int64_t begin = f.num_bags * k / count, end = f.num_bags * (k + 1) / count;
      if (begin < end) cut.pieces.push_back({i, begin, end});
    }
  }
  cut.stream = all_written > kStreamBytes;
  return cut;
}

// fn(piece) for each, on the context's threads.
template <typename Fn>
void ForEachPiece(Context& ctx, const BagPieces& cut, const Fn& fn) {
  // Below this all is done by the calling thread: waking another costs more.
  constexpr int64_t kSerialBytes = 1 << 17;
  const auto n = static_cast<int64_t>(cut.pieces.size());
  ParallelFor(ctx, n, cut.bytes < kSerialBytes ? n : 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) fn(cut.pieces[static_cast<size_t>(i)]);
  });
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_LOOKUP_BAG_PIECES_H_
