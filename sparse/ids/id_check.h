#ifndef TESSERA_SPARSE_IDS_ID_CHECK_H_
#define TESSERA_SPARSE_IDS_ID_CHECK_H_
// The search for an id that names no row. KeyedJaggedTensor::Validate uses it.
#include "runtime/device/device.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// The first position whose id is outside [0, rows), or the number of ids. ids: [n], any integers.
int64_t FirstOutsideSync(OnCpu, Context& ctx, const Tensor& ids, int64_t rows);
int64_t FirstOutsideSync(OnCuda, Context& ctx, const Tensor& ids, int64_t rows);

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_IDS_ID_CHECK_H_
