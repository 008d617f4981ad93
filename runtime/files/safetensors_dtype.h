#ifndef TESSERA_RUNTIME_FILES_SAFETENSORS_DTYPE_H_
#define TESSERA_RUNTIME_FILES_SAFETENSORS_DTYPE_H_
// The names that the safetensors format has for the types of elements.
#include <string>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/numbers/dtype.h"

namespace tessera::internal {

inline constexpr std::pair<DType, const char*> kSafetensorsDTypes[] = {
    {DType::kF32, "F32"}, {DType::kF64, "F64"},  {DType::kF16, "F16"}, {DType::kBF16, "BF16"},
    {DType::kI8, "I8"},   {DType::kU8, "U8"},    {DType::kI16, "I16"}, {DType::kI32, "I32"},
    {DType::kI64, "I64"}, {DType::kBool, "BOOL"}};

// Throws Error for a name of no type here.
inline DType DTypeNamed(const std::string& name) {
  for (const auto& [dtype, text] : kSafetensorsDTypes)
    if (name == text) return dtype;
  TESSERA_FAIL("dtype '{}' is not one this library has", name);
}

// Throws Error for a type that the format has no name for.
inline const char* NameOf(DType dtype) {
  for (const auto& [candidate, text] : kSafetensorsDTypes)
    if (candidate == dtype) return text;
  TESSERA_FAIL("no safetensors name for {}", dtype);
}

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_FILES_SAFETENSORS_DTYPE_H_
