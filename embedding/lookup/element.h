#ifndef TESSERA_EMBEDDING_LOOKUP_ELEMENT_H_
#define TESSERA_EMBEDDING_LOOKUP_ELEMENT_H_
// One number of an array whose type is known at run time: f32, f16 or bf16. Read as f32; rounded to
// nearest when written.
#include <cstdint>

#include "runtime/base/host_device.h"
#include "runtime/numbers/dtype.h"

namespace tessera::internal {

TESSERA_HD float LoadElement(const void* data, DType type, int64_t i) {
  if (type == DType::kF16) return static_cast<float>(static_cast<const Half*>(data)[i]);
  if (type == DType::kBF16) return static_cast<float>(static_cast<const BFloat16*>(data)[i]);
  return static_cast<const float*>(data)[i];
}
TESSERA_HD void StoreElement(void* data, DType type, int64_t i, float value) {
  if (type == DType::kF16)
    static_cast<Half*>(data)[i] = Half(value);
  else if (type == DType::kBF16)
    static_cast<BFloat16*>(data)[i] = BFloat16(value);
  else
    static_cast<float*>(data)[i] = value;
}

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_LOOKUP_ELEMENT_H_
