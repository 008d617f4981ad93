#ifndef TESSERA_SPARSE_OPS_OFFSETS_CHECK_IMPL_H_
#define TESSERA_SPARSE_OPS_OFFSETS_CHECK_IMPL_H_
// The devices' halves of CheckedTotalsSync.
#include <vector>

#include "runtime/device/device.h"
#include "sparse/ops/offsets_check.h"

namespace tessera::internal {

std::vector<int64_t> CheckedTotals(OnCpu, Context& ctx, const OffsetsCheckArgs& args);
std::vector<int64_t> CheckedTotals(OnCuda, Context& ctx, const OffsetsCheckArgs& args);

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_OPS_OFFSETS_CHECK_IMPL_H_
