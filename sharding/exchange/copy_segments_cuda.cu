// Copies of segments on a GPU: a thread a word of 4 bytes.
#include <vector>

#include "embedding/lookup/feature_items.cuh"
#include "runtime/context.h"
#include "sharding/exchange/copy_segments_impl.h"

namespace tessera::internal {
namespace {

struct WordCopy {
  int64_t count;
  const uint32_t* from;
  uint32_t* to;
};
struct CopyWord {
  TESSERA_HD void operator()(const WordCopy& copy, int64_t i) const { copy.to[i] = copy.from[i]; }
};

}  // namespace

void CopySegments(OnCuda on, Context& ctx, std::span<const SegmentCopy> copies) {
  std::vector<WordCopy> words;
  for (const SegmentCopy& copy : copies)
    if (copy.bytes > 0)
      words.push_back({copy.bytes / 4, static_cast<const uint32_t*>(copy.from),
                       static_cast<uint32_t*>(copy.to)});
  ForEachItem(on, ctx, std::span<const WordCopy>(words), 1, CopyWord{});
}

}  // namespace tessera::internal
