#ifndef TESSERA_EMBEDDING_BOUNDS_CHECK_IMPL_H_
#define TESSERA_EMBEDDING_BOUNDS_CHECK_IMPL_H_
// Private to embedding/bounds_check*: the devices' overloads.
#include "embedding/bounds_check.h"
#include "runtime/device.h"

namespace tessera::internal {

TESSERA_HD bool IsLegalId(int64_t id, int64_t rows) { return id == -1 || IsRow(id, rows); }

// Arguments are checked; mode is not NONE.
BoundsCheckResult CheckBounds(OnCpu, Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                              const Tensor& offsets, std::span<const int64_t> rows);
BoundsCheckResult CheckBounds(OnCuda, Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                              const Tensor& offsets, std::span<const int64_t> rows);

// The first illegal id: its place, and which of the features reads it; feature < 0: there is none.
struct FirstIllegal {
  int64_t feature = -1, place = 0, id = 0;
};
FirstIllegal FindIllegalId(OnCpu, Context& ctx, const Tensor& ids,
                           std::span<const CheckedIds> features);
FirstIllegal FindIllegalId(OnCuda, Context& ctx, const Tensor& ids,
                           std::span<const CheckedIds> features);
// `mended` is a copy of `ids`; illegal ids of the features become 0. Features' ids do not overlap.
void MendIds(OnCpu, Context& ctx, const Tensor& ids, std::span<const CheckedIds> features,
             const Tensor& mended, const Tensor& warnings);
void MendIds(OnCuda, Context& ctx, const Tensor& ids, std::span<const CheckedIds> features,
             const Tensor& mended, const Tensor& warnings);

// What FATAL says of bag `bag` (of all), of `batch` bags a feature.
[[noreturn]] void FailOnLastOffset(int64_t offset, int64_t ids);
[[noreturn]] void FailOnOffsets(int64_t bag, int64_t start, int64_t end, int64_t ids);
[[noreturn]] void FailOnId(int64_t bag, int64_t batch, int64_t id, int64_t place, int64_t rows);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_BOUNDS_CHECK_IMPL_H_
