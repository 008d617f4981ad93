#include "runtime/numbers/dtype.h"

#include <array>

namespace tessera {
namespace {

struct Row {
  DType dtype;
  const char* name;
  int size;
};
constexpr std::array<Row, 10> kTypes = {{{DType::kF32, "f32", 4},
                                         {DType::kF64, "f64", 8},
                                         {DType::kF16, "f16", 2},
                                         {DType::kBF16, "bf16", 2},
                                         {DType::kI8, "i8", 1},
                                         {DType::kU8, "u8", 1},
                                         {DType::kI16, "i16", 2},
                                         {DType::kI32, "i32", 4},
                                         {DType::kI64, "i64", 8},
                                         {DType::kBool, "bool", 1}}};

const Row& Of(DType dtype) { return kTypes[static_cast<size_t>(dtype)]; }

}  // namespace

int64_t SizeOf(DType dtype) { return Of(dtype).size; }
std::string ToString(DType dtype) { return Of(dtype).name; }

DType ParseDType(const std::string& name) {
  for (const Row& row : kTypes)
    if (name == row.name) return row.dtype;
  TESSERA_FAIL("dtype '{}': expected one of f32, f64, f16, bf16, i8, u8, i16, i32, i64, bool",
               name);
}

bool IsFloating(DType dtype) { return dtype <= DType::kBF16; }
bool IsInteger(DType dtype) { return dtype >= DType::kI8 && dtype <= DType::kI64; }

}  // namespace tessera
