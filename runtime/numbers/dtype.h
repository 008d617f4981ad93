#ifndef TESSERA_RUNTIME_NUMBERS_DTYPE_H_
#define TESSERA_RUNTIME_NUMBERS_DTYPE_H_
// Element types of a tensor.
#include <cstdint>
#include <string>

#include "runtime/base/check.h"
#include "runtime/numbers/float16.h"

namespace tessera {

enum class DType : uint8_t { kF32, kF64, kF16, kBF16, kI8, kU8, kI16, kI32, kI64, kBool };

// Bytes of one element.
int64_t SizeOf(DType dtype);
// "f32", "i64", "bool", …
std::string ToString(DType dtype);
// The inverse. Throws Error for an unknown name.
DType ParseDType(const std::string& name);
bool IsFloating(DType dtype);
bool IsInteger(DType dtype);

template <typename T>
struct DTypeOf;  // DTypeOf<float>::value == DType::kF32
#define TESSERA_DTYPE_OF_(type, name)           \
  template <>                                   \
  struct DTypeOf<type> {                        \
    static constexpr DType value = DType::name; \
  }
TESSERA_DTYPE_OF_(float, kF32);
TESSERA_DTYPE_OF_(double, kF64);
TESSERA_DTYPE_OF_(Half, kF16);
TESSERA_DTYPE_OF_(BFloat16, kBF16);
TESSERA_DTYPE_OF_(int8_t, kI8);
TESSERA_DTYPE_OF_(uint8_t, kU8);
TESSERA_DTYPE_OF_(int16_t, kI16);
TESSERA_DTYPE_OF_(int32_t, kI32);
TESSERA_DTYPE_OF_(int64_t, kI64);
TESSERA_DTYPE_OF_(bool, kBool);
#undef TESSERA_DTYPE_OF_

// Calls fn.operator()<T>() with the C++ type of `dtype`:  VisitDType(t.dtype(), [&]<typename T>() {
// … t.data<T>() … });
template <typename Fn>
decltype(auto) VisitDType(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kF32:
      return fn.template operator()<float>();
    case DType::kF64:
      return fn.template operator()<double>();
    case DType::kF16:
      return fn.template operator()<Half>();
    case DType::kBF16:
      return fn.template operator()<BFloat16>();
    case DType::kI8:
      return fn.template operator()<int8_t>();
    case DType::kU8:
      return fn.template operator()<uint8_t>();
    case DType::kI16:
      return fn.template operator()<int16_t>();
    case DType::kI32:
      return fn.template operator()<int32_t>();
    case DType::kI64:
      return fn.template operator()<int64_t>();
    case DType::kBool:
      return fn.template operator()<bool>();
  }
  TESSERA_FAIL("unknown dtype {}", static_cast<int>(dtype));
}

// Calls fn with the C++ type of an index, int32 or int64 (lengths, offsets, ids); throws Error for
// any other type, naming `what`.
template <typename Fn>
decltype(auto) VisitIndexType(DType dtype, const char* what, Fn&& fn) {
  if (dtype == DType::kI32) return fn.template operator()<int32_t>();
  TESSERA_CHECK(dtype == DType::kI64, "{}: expected i32 or i64, got {}", what, dtype);
  return fn.template operator()<int64_t>();
}

}  // namespace tessera
#endif  // TESSERA_RUNTIME_NUMBERS_DTYPE_H_
