#ifndef TESSERA_SHARDING_EXCHANGE_COPY_SEGMENTS_H_
#define TESSERA_SHARDING_EXCHANGE_COPY_SEGMENTS_H_
// Many copies inside the memory of one device, by one call.
#include <cstdint>
#include <span>

#include "runtime/context.h"

namespace tessera {

// `bytes` from one place to another, all multiples of 4; places do not overlap.
struct SegmentCopy {
  const void* from = nullptr;
  void* to = nullptr;
  int64_t bytes = 0;
};
void CopySegments(Context& ctx, std::span<const SegmentCopy> copies);

// Bytes that a part of a message takes, so that the next part begins at a multiple of 8.
inline int64_t Padded(int64_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace tessera
#endif  // TESSERA_SHARDING_EXCHANGE_COPY_SEGMENTS_H_
