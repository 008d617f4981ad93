#ifndef TESSERA_SPARSE_IDS_UNIQUE_IMPL_H_
#define TESSERA_SPARSE_IDS_UNIQUE_IMPL_H_
// The devices' halves of unique.h.
#include <span>

#include "runtime/device/device.h"
#include "sparse/ids/unique.h"

namespace tessera::internal {

// ids: contiguous i32 or i64; group_offsets: checked.
UniqueIds UniqueOf(OnCpu, Context& ctx, const Tensor& ids, std::span<const int64_t> group_offsets,
                   bool counts);
UniqueIds UniqueOf(OnCuda, Context& ctx, const Tensor& ids, std::span<const int64_t> group_offsets,
                   bool counts);

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_IDS_UNIQUE_IMPL_H_
