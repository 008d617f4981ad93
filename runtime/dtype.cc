#include "runtime/dtype.h"

#include <array>
#include <bit>
#include <utility>

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

// Shifts right by `shift`, rounding to nearest, ties to even.
uint32_t ShiftRounded(uint32_t value, int shift) {
  const uint32_t half = 1u << (shift - 1), rest = value & ((half << 1) - 1), kept = value >> shift;
  return kept + (rest > half || (rest == half && (kept & 1)));
}

}  // namespace

Half::Half(float value) {
  const uint32_t bits32 = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits32 >> 16 & 0x8000);
  const uint32_t magnitude = bits32 & 0x7fffffff;
  if (magnitude > 0x7f800000)
    bits = sign | 0x7e00;  // NaN
  else if (magnitude >= 0x477ff000)
    bits = sign | 0x7c00;  // rounds to 65536 or more
  else if (magnitude >= 0x38800000)
    bits = static_cast<uint16_t>(sign | ShiftRounded(magnitude - 0x38000000, 13));
  else if (magnitude < 0x33000000)
    bits = sign;  // below half of the smallest subnormal
  else {
    const int shift = 126 - static_cast<int>(magnitude >> 23);
    bits = static_cast<uint16_t>(sign | ShiftRounded((magnitude & 0x7fffff) | 0x800000, shift));
  }
}

Half::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

BFloat16::BFloat16(float value) {
  const uint32_t bits32 = std::bit_cast<uint32_t>(value);
  if ((bits32 & 0x7fffffff) > 0x7f800000)
    bits = static_cast<uint16_t>(bits32 >> 16 | 0x40);  // NaN stays NaN
  else
    bits = static_cast<uint16_t>(ShiftRounded(bits32, 16));
}

BFloat16::operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

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
