#ifndef TESSERA_EMBEDDING_QUANTIZED_ROW_READERS_H_
#define TESSERA_EMBEDDING_QUANTIZED_ROW_READERS_H_
// For *_simd.cc files: a Pack of a stored row's numbers, for each way of reading one, in the bits
// of the formulas of quant/.
//
// A Reader stands at a column of one row, a multiple of Pack::kSize: Values(k) are the numbers of
// the k-th pack from there, times the id's weight if kWeighted. Constants of a row are made once.
// Where kStride > 1, Strided(k) are cheaper: of kStride packs the numbers k % kStride,
// k % kStride + kStride, …, which InOrder brings into order when they are summed.
#include <bit>
#include <cstring>

#include "embedding/quantized/code_packs.h"
#include "quant/row_formulas.h"
#include "quant/row_layout.h"
#include "runtime/numbers/simd.h"

namespace tessera::internal::TESSERA_ISA {

// Elements of kBits each, without parameters.
template <RowReading kReading, bool kWeighted>
class ElementReader {
  static constexpr int kBits = kReading == RowReading::kF32                                    ? 32
                               : kReading == RowReading::kF16 || kReading == RowReading::kBF16 ? 16
                                                                                               : 8;

 public:
  static constexpr bool kWithWeight = kWeighted;
  static constexpr int kStride = 1;
  static int64_t ByteOf(const RowLayout&, int64_t column) { return column * kBits / 8; }

  ElementReader(const uint8_t* row, const RowLayout&, int64_t column, int64_t /*dim*/, float weight)
      : p_(Opaque(row + column * kBits / 8)), weight_(Pack(kWeighted ? weight : 1.0f)) {}
  __attribute__((always_inline)) Pack Values(int k) const {
    const Pack x = Plain(p_ + k * Pack::kSize * kBits / 8);
    return kWeighted ? weight_ * x : x;
  }
  // The first n < kSize.
  Pack First(int n) const {
    alignas(64) uint8_t bytes[64] = {};
    std::memcpy(bytes, p_, static_cast<size_t>(n * kBits / 8));
    const Pack x = Plain(bytes);
    return kWeighted ? weight_ * x : x;
  }

 private:
  __attribute__((always_inline)) static Pack Plain(const uint8_t* p) {
    if constexpr (kReading == RowReading::kF32)
      return Pack::Load(reinterpret_cast<const float*>(p));
    else if constexpr (kReading == RowReading::kF16)
      return Pack::Load(reinterpret_cast<const Half*>(p));
    else if constexpr (kReading == RowReading::kBF16)
      return Pack::Load(reinterpret_cast<const BFloat16*>(p));
    else
      return Fp8Values(p, kReading);
  }
  const uint8_t* p_;
  Pack weight_;
};

// The codes of a pack whose first `bytes` bytes alone may be read; zeros behind them.
struct FirstCodes {
  FirstCodes(const uint8_t* codes, int bytes) {
    std::memcpy(at, codes, static_cast<size_t>(bytes));
  }
  uint8_t at[Pack::kSize] = {};
};

// Scale and bias of a row, in every element.
struct AffinePacks {
  Pack scale, bias;
};
inline __attribute__((always_inline)) AffinePacks LoadAffine(const uint8_t* params, bool f32) {
  if (f32) return {Pack(LoadParam<float>(params)), Pack(LoadParam<float>(params + 4))};
#if defined(__AVX512F__)
  const __m128 both = _mm_cvtph_ps(_mm_cvtsi32_si128(LoadAs<int32_t>(params)));
  return {PackOf(_mm512_broadcastss_ps(both)),
          PackOf(_mm512_broadcastss_ps(_mm_movehdup_ps(both)))};
#elif defined(__AVX2__)
  const __m128 both = _mm_cvtph_ps(_mm_cvtsi32_si128(LoadAs<int32_t>(params)));
  return {PackOf(_mm256_broadcastss_ps(both)),
          PackOf(_mm256_broadcastss_ps(_mm_movehdup_ps(both)))};
#else
  return {Pack(LoadParam<Half>(params)), Pack(LoadParam<Half>(params + 2))};
#endif
}

template <int kBits, bool kWeighted>
class AffineReader {
 public:
  static constexpr bool kWithWeight = kWeighted;
  static constexpr int kStride = 1;

  __attribute__((always_inline)) AffineReader(const uint8_t* row, const RowLayout& layout,
                                              int64_t column, int64_t /*dim*/, float weight)
      : codes_(Opaque(row + layout.codes_at + column * kBits / 8)),
        params_(LoadAffine(row + layout.params_at, layout.f32_params)),
        weight_(Pack(kWeighted ? weight : 1.0f)) {}
  __attribute__((always_inline)) Pack Values(int k) const {
    return Of(codes_ + k * (Pack::kSize * kBits / 8));
  }
  Pack First(int n) const { return Of(FirstCodes(codes_, (n * kBits + 7) / 8).at); }

 private:
  __attribute__((always_inline)) Pack Of(const uint8_t* codes) const {
    const Pack x = Codes<kBits>(codes) * params_.scale + params_.bias;
    return kWeighted ? weight_ * x : x;
  }
  const uint8_t* codes_;
  AffinePacks params_;
  Pack weight_;
};

#if defined(__AVX2__)
// A register holds what each code of 2 bits, and with AVX-512 each of 4 bits, stands for, weight
// included; a code then takes a shift and a permutation, which looks at the low bits of its index
// alone.
template <int kBits, bool kWeighted>
class TableReader {
 public:
  static constexpr bool kWithWeight = kWeighted;
#if defined(__AVX512F__)
  static constexpr int kStride = 8 / kBits;  // codes of a byte
#else
  static constexpr int kStride = 1;
#endif

  __attribute__((always_inline)) TableReader(const uint8_t* row, const RowLayout& layout,
                                             int64_t column, int64_t /*dim*/, float weight)
      : codes_(Opaque(row + layout.codes_at + column * kBits / 8)),
        table_(TableOf(LoadAffine(row + layout.params_at, layout.f32_params), weight)) {}
  __attribute__((always_inline)) Pack Values(int k) const {
    return Of(codes_ + k * (Pack::kSize * kBits / 8));
  }
  Pack First(int n) const { return Of(FirstCodes(codes_, (n * kBits + 7) / 8).at); }
#if defined(__AVX512F__)
  __attribute__((always_inline)) Pack Strided(int k) const {
    const uint8_t* bytes = codes_ + k / kStride * Pack::kSize;
    const __m512i each =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
    return At(_mm512_srli_epi32(each, static_cast<unsigned>(k % kStride * kBits)));
  }
  template <int kPacks>
  __attribute__((always_inline)) static void InOrder(Pack (&packs)[kPacks]) {
    TESSERA_UNROLL
    for (int k = 0; k < kPacks; k += kStride) {
      Pack* p = packs + k;
      if constexpr (kStride == 4) {
        Interleave(p[0], p[2]);
        Interleave(p[1], p[3]);
        Interleave(p[0], p[1]);
        Interleave(p[2], p[3]);
      } else {
        Interleave(p[0], p[1]);
      }
    }
  }
#endif

 private:
  __attribute__((always_inline)) static Pack TableOf(const AffinePacks& params, float weight) {
    constexpr int kMask = (1 << kBits) - 1;
    alignas(64) static constexpr float kCodes[16] = {
        0,          1,          2,          3,         4 & kMask,  5 & kMask,
        6 & kMask,  7 & kMask,  8 & kMask,  9 & kMask, 10 & kMask, 11 & kMask,
        12 & kMask, 13 & kMask, 14 & kMask, 15 & kMask};
    const Pack x = Pack::Load(kCodes) * params.scale + params.bias;
    return kWeighted ? Pack(weight) * x : x;
  }
#if defined(__AVX512F__)
  __attribute__((always_inline)) Pack Of(const uint8_t* codes) const {
    __m512i indices;
    if constexpr (kBits == 2) {
      const __m512i shifts =
          _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
      indices = _mm512_srlv_epi32(_mm512_set1_epi32(LoadAs<int32_t>(codes)), shifts);
    } else {
      indices = NibblesAtLowBits(codes);
    }
    return At(indices);
  }
  __attribute__((always_inline)) Pack At(__m512i indices) const {
    return PackOf(_mm512_permutexvar_ps(indices, std::bit_cast<__m512>(table_)));
  }
  typedef float Floats __attribute__((vector_size(64)));
  // a₀ b₀ a₁ b₁ …, in both.
  __attribute__((always_inline)) static void Interleave(Pack& a, Pack& b) {
    const auto x = std::bit_cast<Floats>(a), y = std::bit_cast<Floats>(b);
    a = PackOf(
        __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
    b = PackOf(__builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30,
                                       15, 31));
  }
#else
  __attribute__((always_inline)) Pack Of(const uint8_t* codes) const {
    const __m256i shifts = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
    const __m256i indices = _mm256_srlv_epi32(_mm256_set1_epi32(LoadAs<uint16_t>(codes)), shifts);
    return PackOf(_mm256_permutevar8x32_ps(std::bit_cast<__m256>(table_), indices));
  }
#endif
  const uint8_t* codes_;
  Pack table_;
};
#endif

// Groups of 32, each with an exponent of its own.
template <bool kWeighted>
class Mx4Reader {
  using Code = BlockCode<Mx4Block<Mx4Rounding::kEven>>;
  static_assert(kMx4Group % Pack::kSize == 0);  // no pack reads two groups

 public:
  static constexpr bool kWithWeight = kWeighted;
  static constexpr int kStride = 1;

  __attribute__((always_inline))
  Mx4Reader(const uint8_t* row, const RowLayout&, int64_t column, int64_t dim, float weight)
      : group_(Opaque(row + column / kMx4Group * Code::BlockBytes(kMx4Group))),
        place_(static_cast<int>(column % kMx4Group)),
        numbers_(static_cast<int>(dim - column) + place_),
        weight_(Pack(kWeighted ? weight : 1.0f)) {}
  __attribute__((always_inline)) Pack Values(int k) const {
    const int at = place_ + k * Pack::kSize, group = at / kMx4Group;
    return Of(CodesAt(at), group);
  }
  Pack First(int n) const { return Of(FirstCodes(CodesAt(place_), (n + 1) / 2).at, 0); }

 private:
  __attribute__((always_inline)) const uint8_t* CodesAt(int at) const {
    return group_ + at / kMx4Group * Code::BlockBytes(kMx4Group) + at % kMx4Group / 2;
  }
  __attribute__((always_inline)) Pack Of(const uint8_t* codes, int group) const {
    const int rest = numbers_ - group * kMx4Group;
    const uint8_t* exponent = group_ + group * Code::BlockBytes(kMx4Group) +
                              Code::ParamsAt(rest < kMx4Group ? rest : kMx4Group);
    const float factor = std::bit_cast<float>((*exponent + 1u) << 23);
    const Pack x = Mx4HalvesOf(codes) * Pack(factor);
    return kWeighted ? weight_ * x : x;
  }
  const uint8_t* group_;  // of the first column
  int place_, numbers_;   // of the first column in it; from its begin to the row's end
  Pack weight_;
};

// Calls fn.operator()<Reader>() with the reader of a layout.
template <bool kWeighted, typename Fn>
void VisitReader(RowReading reading, const Fn& fn) {
  switch (reading) {
    case RowReading::kF32:
      return fn.template operator()<ElementReader<RowReading::kF32, kWeighted>>();
    case RowReading::kF16:
      return fn.template operator()<ElementReader<RowReading::kF16, kWeighted>>();
    case RowReading::kBF16:
      return fn.template operator()<ElementReader<RowReading::kBF16, kWeighted>>();
    case RowReading::kHfp8:
      return fn.template operator()<ElementReader<RowReading::kHfp8, kWeighted>>();
    case RowReading::kE4M3:
      return fn.template operator()<ElementReader<RowReading::kE4M3, kWeighted>>();
    case RowReading::kE5M2:
      return fn.template operator()<ElementReader<RowReading::kE5M2, kWeighted>>();
    case RowReading::kAffine8:
      return fn.template operator()<AffineReader<8, kWeighted>>();
#if defined(__AVX512F__)
    case RowReading::kAffine4:
      return fn.template operator()<TableReader<4, kWeighted>>();
#else
    case RowReading::kAffine4:
      return fn.template operator()<AffineReader<4, kWeighted>>();
#endif
#if defined(__AVX2__)
    case RowReading::kAffine2:
      return fn.template operator()<TableReader<2, kWeighted>>();
#else
    case RowReading::kAffine2:
      return fn.template operator()<AffineReader<2, kWeighted>>();
#endif
    case RowReading::kMx4:
      return fn.template operator()<Mx4Reader<kWeighted>>();
  }
}

}  // namespace tessera::internal::TESSERA_ISA
#endif  // TESSERA_EMBEDDING_QUANTIZED_ROW_READERS_H_
