#ifndef TESSERA_SHARDING_EXCHANGE_COPY_SEGMENTS_IMPL_H_
#define TESSERA_SHARDING_EXCHANGE_COPY_SEGMENTS_IMPL_H_
// CopySegments on each machine.
#include <span>

#include "runtime/base/host_device.h"
#include "runtime/device/dispatch.h"
#include "sharding/exchange/copy_segments.h"

namespace tessera::internal {

void CopySegments(OnCpu, Context& ctx, std::span<const SegmentCopy> copies);
void CopySegments(OnCuda, Context& ctx, std::span<const SegmentCopy> copies);

}  // namespace tessera::internal
#endif  // TESSERA_SHARDING_EXCHANGE_COPY_SEGMENTS_IMPL_H_
