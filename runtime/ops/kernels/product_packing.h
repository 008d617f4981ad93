#ifndef TESSERA_RUNTIME_OPS_KERNELS_PRODUCT_PACKING_H_
#define TESSERA_RUNTIME_OPS_KERNELS_PRODUCT_PACKING_H_
// Packing of a product's factors: to[depth * width + x] of some rows or columns x. For *_simd.cc
// files (tools/isa.bzl).
#include <cstdint>
#include <utility>

#include "runtime/numbers/simd.h"
#include "runtime/ops/kernels/product.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

constexpr int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }

// ---- Neighbours in memory are terms of one sum.

// Rows are transposed kWide at a time; fours are what instructions shuffle within. (With AVX-512
// shuffles of 32 bytes have two ports of an Intel core, those of 64 bytes one.)
constexpr int64_t kWide = Pack::kSize < 8 ? Pack::kSize : 8;
using Four = float __attribute__((vector_size(16)));
using UnalignedFour = float __attribute__((vector_size(16), aligned(4), may_alias));
using Wide = float __attribute__((vector_size(4 * kWide)));
using UnalignedWide = float __attribute__((vector_size(4 * kWide), aligned(4), may_alias));

#define TESSERA_INLINE inline __attribute__((always_inline))

TESSERA_INLINE Four LoadFour(const float* p) {
  return Four(*reinterpret_cast<const UnalignedFour*>(p));
}

// Within each four: a0 b0 a1 b1, a2 b2 a3 b3, a0 a1 b0 b1, a2 a3 b2 b3.
constexpr auto kElements = std::make_integer_sequence<int, int{kWide}>();
template <int... i>
TESSERA_INLINE Wide ZipLow(Wide a, Wide b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (i / 4 * 4 + i % 4 / 2 + i % 2 * int{kWide})...);
}
template <int... i>
TESSERA_INLINE Wide ZipHigh(Wide a, Wide b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (i / 4 * 4 + 2 + i % 4 / 2 + i % 2 * int{kWide})...);
}
template <int... i>
TESSERA_INLINE Wide JoinLow(Wide a, Wide b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (i / 4 * 4 + i % 2 + i % 4 / 2 * int{kWide})...);
}
template <int... i>
TESSERA_INLINE Wide JoinHigh(Wide a, Wide b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (i / 4 * 4 + 2 + i % 2 + i % 4 / 2 * int{kWide})...);
}

// The four at `from`, and where there is room that at from + step.
template <int64_t kFours = kWide / 4>
TESSERA_INLINE auto LoadFours(const float* from, int64_t step) {
  if constexpr (kFours == 1)
    return LoadFour(from);
  else
    return __builtin_shufflevector(LoadFour(from), LoadFour(from + step), 0, 1, 2, 3, 4, 5, 6, 7);
}

// Four terms of kWide sums, transposed.
TESSERA_INLINE void TransposeFourTerms(const float* from, int64_t ld, int64_t width, float* to) {
  const Wide a = LoadFours(from, 4 * ld), b = LoadFours(from + ld, 4 * ld),
             c = LoadFours(from + 2 * ld, 4 * ld), d = LoadFours(from + 3 * ld, 4 * ld);
  const Wide ab_low = ZipLow(a, b, kElements), ab_high = ZipHigh(a, b, kElements),
             cd_low = ZipLow(c, d, kElements), cd_high = ZipHigh(c, d, kElements);
  const Wide terms[] = {JoinLow(ab_low, cd_low, kElements), JoinHigh(ab_low, cd_low, kElements),
                        JoinLow(ab_high, cd_high, kElements),
                        JoinHigh(ab_high, cd_high, kElements)};
  TESSERA_UNROLL
  for (int i = 0; i < 4; ++i) *reinterpret_cast<UnalignedWide*>(to + i * width) = terms[i];
}

void PackTransposed(const ProductSide& side, int64_t first, int64_t count, int64_t depth_begin,
                    int64_t depth, int64_t width, float* to) {
  int64_t x = 0;
  for (; x + kWide <= count; x += kWide) {
    const float* from = side.At(first + x, depth_begin);
    int64_t d = 0;
    for (; d + 4 <= depth; d += 4) TransposeFourTerms(from + d, side.ld, width, to + d * width + x);
    for (; d < depth; ++d)
      for (int64_t i = 0; i < kWide; ++i) to[d * width + x + i] = from[i * side.ld + d];
  }
  for (; x < count; ++x) {
    const float* from = side.At(first + x, depth_begin);
    for (int64_t d = 0; d < depth; ++d) to[d * width + x] = from[d];
  }
}

// ---- Neighbours in memory are terms of neighbouring sums.

void PackStraight(const ProductSide& side, int64_t first, int64_t count, int64_t depth_begin,
                  int64_t depth, int64_t width, float* to) {
  for (int64_t d = 0; d < depth; ++d, to += width) {
    const float* from = side.At(first, depth_begin + d);
    int64_t x = 0;
    for (; x + Pack::kSize <= count; x += Pack::kSize) Pack::Load(from + x).Store(to + x);
    for (; x < count; ++x) to[x] = from[x];
  }
}

// Panels of kWidth sums each, `next_panel` floats apart. All of them take a term before the next
// term: memory is read in its order, which takes 0.7 of the time of one panel after the other
// (2048×512 floats, Zen 4).
template <int64_t kWidth>
void PackPanelsStraight(const ProductSide& side, int64_t first, int64_t panels, int64_t depth_begin,
                        int64_t depth, int64_t next_panel, float* to) {
  for (int64_t d = 0; d < depth; ++d, to += kWidth) {
    const float* from = side.At(first, depth_begin + d);
    for (int64_t panel = 0; panel < panels; ++panel) {
      TESSERA_UNROLL
      for (int64_t x = 0; x < kWidth; x += Pack::kSize)
        Pack::Load(from + panel * kWidth + x).Store(to + panel * next_panel + x);
    }
  }
}

// ---- Both.

// Elements of `to` from `count` to `width` become 0.
void PackSide(const ProductSide& side, int64_t first, int64_t count, int64_t depth_begin,
              int64_t depth, int64_t width, float* to) {
  (side.depth_inner ? PackTransposed : PackStraight)(side, first, count, depth_begin, depth, width,
                                                     to);
  if (count == width) return;
  for (int64_t d = 0; d < depth; ++d)
    for (int64_t x = count; x < width; ++x) to[d * width + x] = 0;
}

}  // namespace
}  // namespace tessera::internal::TESSERA_ISA
#endif  // TESSERA_RUNTIME_OPS_KERNELS_PRODUCT_PACKING_H_
