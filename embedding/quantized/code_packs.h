#ifndef TESSERA_EMBEDDING_QUANTIZED_CODE_PACKS_H_
#define TESSERA_EMBEDDING_QUANTIZED_CODE_PACKS_H_
// For *_simd.cc files: a Pack of the next codes of a stored row (row_readers.h reads rows by them).
// The same bits as the formulas of quant/, which are what is left where an instruction set has
// nothing better.
#include <bit>
#include <cstring>

#include "quant/row_formulas.h"
#include "quant/row_layout.h"
#include "runtime/numbers/simd.h"

namespace tessera::internal::TESSERA_ISA {

template <typename V>
inline __attribute__((always_inline)) Pack PackOf(V v) {
  static_assert(sizeof(V) == sizeof(Pack));
  return std::bit_cast<Pack>(v);
}

template <typename T>
inline __attribute__((always_inline)) T LoadAs(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// kSize numbers made one by one.
template <typename Fn>
inline __attribute__((always_inline)) Pack PackFrom(const Fn& fn) {
  float values[Pack::kSize];
  for (int i = 0; i < Pack::kSize; ++i) values[i] = fn(i);
  return Pack::Load(values);
}

// ---- codes

#if defined(__AVX512F__)
// The next 16 codes of 4 bits, each in the low bits of an integer.
inline __attribute__((always_inline)) __m512i NibblesAtLowBits(const uint8_t* p) {
  const __m512i shifts =
      _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
  const __m512i low = _mm512_set1_epi32(LoadAs<int32_t>(p));
  return _mm512_srlv_epi32(_mm512_mask_set1_epi32(low, 0xff00, LoadAs<int32_t>(p + 4)), shifts);
}
#elif defined(__AVX2__)
// The next 8 codes of 4 bits, each in the low bits of an integer.
inline __attribute__((always_inline)) __m256i NibblesAtLowBits(const uint8_t* p) {
  return _mm256_srlv_epi32(_mm256_set1_epi32(LoadAs<int32_t>(p)),
                           _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
}
#endif

// The next kSize codes of kBits, as floats.
template <int kBits>
inline __attribute__((always_inline)) Pack Codes(const uint8_t* p) {
#if defined(__AVX512F__)
  if constexpr (kBits == 8)
    return PackOf(_mm512_cvtepi32_ps(
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))));
#elif defined(__AVX2__)
  if constexpr (kBits == 8)
    return PackOf(_mm256_cvtepi32_ps(
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))));
  if constexpr (kBits == 4)
    return PackOf(_mm256_cvtepi32_ps(_mm256_and_si256(NibblesAtLowBits(p), _mm256_set1_epi32(15))));
#endif
  constexpr int kPerByte = 8 / kBits;
  return PackFrom([&](int i) {
    const uint32_t code =
        static_cast<uint32_t>(p[i / kPerByte]) >> (i % kPerByte * kBits) & ((1u << kBits) - 1);
    return static_cast<float>(static_cast<int32_t>(code));
  });
}

// ---- 16 and 8 bits that are a float by themselves

inline __attribute__((always_inline)) Pack Fp8Values(const uint8_t* p, RowReading reading) {
#if defined(__AVX512F__)
  const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#define TESSERA_WORDS_(op, ...) _mm256_##op##_epi16(__VA_ARGS__)
#define TESSERA_BITS_(op, ...) _mm256_##op##_si256(__VA_ARGS__)
#define TESSERA_HALVES_(words) PackOf(_mm512_maskz_cvtph_ps(0xffff, words))
#elif defined(__AVX2__)
  const __m128i wide = _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
#define TESSERA_WORDS_(op, ...) _mm_##op##_epi16(__VA_ARGS__)
#define TESSERA_BITS_(op, ...) _mm_##op##_si128(__VA_ARGS__)
#define TESSERA_HALVES_(words) PackOf(_mm256_cvtph_ps(words))
#endif
#if defined(TESSERA_WORDS_)
  if (reading == RowReading::kE5M2) return TESSERA_HALVES_(TESSERA_WORDS_(slli, wide, 8));
  // Four exponent bits of bias 7 as a half: its own bias is 8 more.
  const auto sign_and_digits = TESSERA_WORDS_(set1, static_cast<short>(0xbf80));
  auto half = TESSERA_BITS_(and, TESSERA_WORDS_(slli, wide, 7), sign_and_digits);
  if (reading == RowReading::kE4M3) {
    const auto digits = TESSERA_WORDS_(set1, 0x3f80);
    const auto nan = TESSERA_WORDS_(cmpeq, TESSERA_BITS_(and, half, digits), digits);
    half = TESSERA_BITS_(or, half, TESSERA_BITS_(and, nan, TESSERA_WORDS_(set1, 0x7e00)));
  }
  return TESSERA_HALVES_(half) * Pack(256.0f);
#undef TESSERA_WORDS_
#undef TESSERA_BITS_
#undef TESSERA_HALVES_
#else
  return PackFrom([&](int i) {
    return reading == RowReading::kE5M2   ? E5M2::Decode(p[i])
           : reading == RowReading::kE4M3 ? E4M3::Decode(p[i])
                                          : Hfp8Code<false>::Format().Decode(p[i]);
  });
#endif
}

// ---- 4 bits of mx4

// Mx4Decode(code, kMx4Unit) of each code: half its value, so that the factor of a group, twice its
// power of two, is a normal float. Products with a power of two are exact, or rounded once.
inline constexpr uint32_t kMx4Unit = 126;
struct alignas(64) Mx4Halves {
  float of[16];
};
inline constexpr Mx4Halves kMx4Halves = [] {
  Mx4Halves halves{};
  for (uint32_t code = 0; code < 16; ++code) halves.of[code] = Mx4Decode(code, kMx4Unit);
  return halves;
}();

// The kMx4Halves of the next kSize codes.
inline __attribute__((always_inline)) Pack Mx4HalvesOf(const uint8_t* p) {
#if defined(__AVX512F__)
  return PackOf(_mm512_permutexvar_ps(NibblesAtLowBits(p), _mm512_load_ps(kMx4Halves.of)));
#elif defined(__AVX2__)
  const __m256i codes = NibblesAtLowBits(p);
  const __m256 plus = _mm256_permutevar8x32_ps(_mm256_load_ps(kMx4Halves.of), codes),
               minus = _mm256_permutevar8x32_ps(_mm256_load_ps(kMx4Halves.of + 8), codes);
  return PackOf(_mm256_blendv_ps(plus, minus, _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28))));
#else
  return PackFrom([&](int i) { return kMx4Halves.of[p[i / 2] >> (i % 2 * 4) & 15]; });
#endif
}

}  // namespace tessera::internal::TESSERA_ISA
#endif  // TESSERA_EMBEDDING_QUANTIZED_CODE_PACKS_H_
