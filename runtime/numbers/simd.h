#ifndef TESSERA_RUNTIME_NUMBERS_SIMD_H_
#define TESSERA_RUNTIME_NUMBERS_SIMD_H_
// Pack: as many floats as one register of this file's instruction set holds. For *_simd.cc files
// (tools/isa.bzl) and for rules that a user compiles alone; each level's Pack is a type of its own,
// in the level's namespace. GCC's vector types inside: with std::experimental::simd GCC 12 kept the
// sums of a lookup in memory instead of registers.
#include <cstdint>

#include "runtime/numbers/float16.h"

#if defined(__AVX512F__) || defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#ifndef TESSERA_ISA
#define TESSERA_ISA native
#endif

namespace tessera::internal::TESSERA_ISA {

class Pack {
#if defined(__AVX512F__)
  static constexpr int kBytes = 64;
#elif defined(__AVX__)
  static constexpr int kBytes = 32;
#else
  static constexpr int kBytes = 16;
#endif
  typedef float Simd __attribute__((vector_size(kBytes)));
  typedef float Unaligned __attribute__((vector_size(kBytes), aligned(4), may_alias));
  // Vectors of as many 16-bit floats and 32-bit integers as a Pack has floats.
  typedef uint16_t Bits16 __attribute__((vector_size(kBytes / 2)));
  typedef uint16_t Unaligned16 __attribute__((vector_size(kBytes / 2), aligned(2), may_alias));
  typedef uint32_t Bits32 __attribute__((vector_size(kBytes)));

 public:
  static constexpr int kSize = kBytes / static_cast<int>(sizeof(float));

  Pack() = default;
  explicit Pack(float all) : v_(all - Simd{}) {}
  static Pack Load(const float* p) { return Pack(Simd(*reinterpret_cast<const Unaligned*>(p))); }
  void Store(float* p) const { *reinterpret_cast<Unaligned*>(p) = v_; }

  // The first n < kSize elements; the others are 0, and memory past them is not touched.
  static Pack LoadFirst(const float* p, int n) {
#if defined(__AVX512F__)
    return Pack(Simd(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p)));
#else
    float all[kSize] = {};
    for (int i = 0; i < n; ++i) all[i] = p[i];
    return Load(all);
#endif
  }
  void StoreFirst(float* p, int n) const {
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), reinterpret_cast<__m512>(v_));
#else
    float all[kSize];
    Store(all);
    for (int i = 0; i < n; ++i) p[i] = all[i];
#endif
  }

  // Loads widen 16-bit floats; stores round to nearest (ties to even).
  static Pack Load(const Half* p) { return FromHalf(LoadBits(p)); }
  static Pack Load(const BFloat16* p) { return FromBFloat16(LoadBits(p)); }
  static Pack LoadFirst(const Half* p, int n) { return FromHalf(LoadFirstBits(p, n)); }
  static Pack LoadFirst(const BFloat16* p, int n) { return FromBFloat16(LoadFirstBits(p, n)); }
  void Store(Half* p) const { StoreBits(p, ToHalf()); }
  void Store(BFloat16* p) const { StoreBits(p, ToBFloat16()); }
  void StoreFirst(Half* p, int n) const { StoreFirstBits(p, n, ToHalf()); }
  void StoreFirst(BFloat16* p, int n) const { StoreFirstBits(p, n, ToBFloat16()); }

  // Writes past the caches. REQUIRES: p is aligned to kSize elements. Needs a StoreFence before
  // others may read.
  void Stream(float* p) const {
#if defined(__AVX512F__)
    _mm512_stream_ps(p, reinterpret_cast<__m512>(v_));
#elif defined(__AVX__)
    _mm256_stream_ps(p, reinterpret_cast<__m256>(v_));
#elif defined(__SSE2__)
    _mm_stream_ps(p, reinterpret_cast<__m128>(v_));
#else
    Store(p);
#endif
  }

  void Stream(Half* p) const { StreamBits(p, ToHalf()); }
  void Stream(BFloat16* p) const { StreamBits(p, ToBFloat16()); }

  friend Pack operator+(Pack a, Pack b) { return Pack(a.v_ + b.v_); }
  friend Pack operator-(Pack a, Pack b) { return Pack(a.v_ - b.v_); }
  friend Pack operator*(Pack a, Pack b) { return Pack(a.v_ * b.v_); }
  friend Pack operator/(Pack a, Pack b) { return Pack(a.v_ / b.v_); }
  // a·b + c, rounded once: the same bits with the instruction and without.
  friend Pack Fma(Pack a, Pack b, Pack c) {
#if defined(__AVX512F__)
    return Pack(Simd(_mm512_fmadd_ps(__m512(a.v_), __m512(b.v_), __m512(c.v_))));
#elif defined(__FMA__)
    return Pack(Simd(_mm256_fmadd_ps(__m256(a.v_), __m256(b.v_), __m256(c.v_))));
#elif defined(__ARM_NEON)
    return Pack(Simd(vfmaq_f32(c.v_, a.v_, b.v_)));
#else
    return Pack(FmaByDoubles(a.v_, b.v_, c.v_));
#endif
  }
  // The sum of all elements, folded by halves (runtime/numbers/lanes.h).
  float Fold() const { return FoldOf<kSize>(v_); }

  // Maxima and minima behave like those of runtime/numbers/math.h.
  friend Pack Max(Pack a, Pack b) { return Pack(b.v_ > a.v_ ? b.v_ : a.v_); }
  friend Pack Min(Pack a, Pack b) { return Pack(b.v_ < a.v_ ? b.v_ : a.v_); }
  friend Pack Sign(Pack a) {
    const Simd zero = {}, one = zero + 1.0f;
    return Pack(a.v_ > zero ? one : a.v_ < zero ? -one : a.v_);
  }
  friend Pack Sqrt(Pack a) {
#if defined(__AVX512F__)
    return Pack(Simd(_mm512_sqrt_ps(reinterpret_cast<__m512>(a.v_))));
#elif defined(__AVX__)
    return Pack(Simd(_mm256_sqrt_ps(reinterpret_cast<__m256>(a.v_))));
#elif defined(__SSE2__)
    return Pack(Simd(_mm_sqrt_ps(reinterpret_cast<__m128>(a.v_))));
#elif defined(__ARM_NEON)
    return Pack(Simd(vsqrtq_f32(a.v_)));
#else
    for (int i = 0; i < kSize; ++i) a.v_[i] = __builtin_sqrtf(a.v_[i]);
    return a;
#endif
  }

 private:
  explicit Pack(Simd v) : v_(v) {}

  // A product of floats is exact as a double. Its sum with c is rounded to odd (an inexact sum
  // whose last bit is 0 moves one unit towards the part that was lost), so that rounding once more,
  // to a float, gives what one rounding gives.
  template <typename V>
  static V FmaByDoubles(V a, V b, V c) {
    typedef double Doubles __attribute__((vector_size(2 * sizeof(V))));
    typedef int64_t Bits __attribute__((vector_size(2 * sizeof(V))));
    const Doubles product =
        __builtin_convertvector(a, Doubles) * __builtin_convertvector(b, Doubles);
    const Doubles addend = __builtin_convertvector(c, Doubles), sum = product + addend;
    const Doubles of_addend = sum - product;
    const Doubles lost = (product - (sum - of_addend)) + (addend - of_addend);
    const Bits bits = Bits(sum), inexact = (lost < 0.0) | (lost > 0.0);
    const Bits same_sign = (lost < 0.0) == (sum < 0.0);
    const Bits step = (same_sign & 2) - 1;  // 1 or −1
    return __builtin_convertvector(Doubles(bits + (step & inexact & ((bits & 1) - 1))), V);
  }

  template <int kWidth, typename V>
  static float FoldOf(V v) {
    if constexpr (kWidth == 16)
      return FoldOf<8>(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                       __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
    else if constexpr (kWidth == 8)
      return FoldOf<4>(__builtin_shufflevector(v, v, 0, 1, 2, 3) +
                       __builtin_shufflevector(v, v, 4, 5, 6, 7));
    else
      return (v[0] + v[2]) + (v[1] + v[3]);
  }

  static Bits16 LoadBits(const void* p) { return Bits16(*static_cast<const Unaligned16*>(p)); }
  static void StoreBits(void* p, Bits16 bits) { *static_cast<Unaligned16*>(p) = bits; }
  static void StreamBits(void* p, Bits16 bits) {
#if defined(__AVX512F__)
    _mm256_stream_si256(static_cast<__m256i*>(p), __m256i(bits));
#elif defined(__AVX__)
    _mm_stream_si128(static_cast<__m128i*>(p), __m128i(bits));
#else
    StoreBits(p, bits);
#endif
  }
  static Bits16 LoadFirstBits(const void* p, int n) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    return Bits16(_mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1), p));
#else
    uint16_t all[kSize] = {};
    for (int i = 0; i < n; ++i) all[i] = static_cast<const uint16_t*>(p)[i];
    return LoadBits(all);
#endif
  }
  static void StoreFirstBits(void* p, int n, Bits16 bits) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1u << n) - 1), __m256i(bits));
#else
    for (int i = 0; i < n; ++i) static_cast<uint16_t*>(p)[i] = bits[i];
#endif
  }

  // runtime/numbers/float16.h says what these do; the instructions give the same bits. (A full
  // mask: GCC 12 takes the undefined operand of the plain intrinsics for an uninitialised
  // variable.)
  static Pack FromHalf(Bits16 bits) {
#if defined(__AVX512F__)
    return Pack(Simd(_mm512_maskz_cvtph_ps(0xffff, __m256i(bits))));
#elif defined(__F16C__)
    return Pack(Simd(_mm256_cvtph_ps(__m128i(bits))));
#elif defined(__ARM_NEON)
    return Pack(Simd(vcvt_f32_f16(float16x4_t(bits))));
#else
    Simd v;
    for (int i = 0; i < kSize; ++i) v[i] = HalfBitsToFloat(bits[i]);
    return Pack(v);
#endif
  }
  Bits16 ToHalf() const {
#if defined(__AVX512F__)
    return Bits16(_mm512_maskz_cvtps_ph(0xffff, __m512(v_), _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
    return Bits16(_mm256_cvtps_ph(__m256(v_), _MM_FROUND_TO_NEAREST_INT));
#elif defined(__ARM_NEON)
    return Bits16(vcvt_f16_f32(v_));
#else
    Bits16 bits;
    for (int i = 0; i < kSize; ++i) bits[i] = FloatToHalfBits(v_[i]);
    return bits;
#endif
  }
  static Pack FromBFloat16(Bits16 bits) {
#if defined(__AVX512F__)
    const Bits32 wide = Bits32(_mm512_maskz_cvtepu16_epi32(0xffff, __m256i(bits)));
#elif defined(__AVX2__)
    const Bits32 wide = Bits32(_mm256_cvtepu16_epi32(__m128i(bits)));
#else
    const Bits32 wide = __builtin_convertvector(bits, Bits32);
#endif
    return Pack(Simd(wide << 16));
  }
  Bits16 ToBFloat16() const {
    const Bits32 rounded = RoundToUpperHalf(Bits32(v_));
#if defined(__AVX512F__)
    return Bits16(_mm512_maskz_cvtepi32_epi16(0xffff, __m512i(rounded)));
#else
    return __builtin_convertvector(rounded, Bits16);
#endif
  }

  Simd v_;
};

// Before a loop over an array of Packs: unrolled early enough that the array lives in registers.
#define TESSERA_UNROLL _Pragma("GCC unroll 32")

// p, of which the compiler forgets how it was made: neighbouring packs are then reached by constant
// offsets from one register.
template <typename T>
inline __attribute__((always_inline)) const T* Opaque(const T* p) {
  __asm__("" : "+r"(p));
  return p;
}

inline void StoreFence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// Brings the cache lines of [p, p + bytes) closer: to the second level (kToL2), or to the first for
// reading or writing.
enum class PrefetchFor { kToL2, kRead, kWrite };
// Always inlined, and so must every function be that does nothing else: GCC takes one that only
// prefetches for a function without effect, and drops calls of it.
template <PrefetchFor purpose>
inline __attribute__((always_inline)) void PrefetchLine(const char* line) {
  if constexpr (purpose == PrefetchFor::kToL2)
    __builtin_prefetch(line, 0, 2);
  else if constexpr (purpose == PrefetchFor::kRead)
    __builtin_prefetch(line, 0, 3);
  else
    __builtin_prefetch(line, 1, 3);
}
template <PrefetchFor purpose>
inline __attribute__((always_inline)) void Prefetch(const void* p, long bytes) {
  const char* line = reinterpret_cast<const char*>(reinterpret_cast<unsigned long>(p) & ~63ul);
  const char* end = static_cast<const char*>(p) + bytes;
  for (; line < end; line += 64) PrefetchLine<purpose>(line);
}

}  // namespace tessera::internal::TESSERA_ISA
#endif  // TESSERA_RUNTIME_NUMBERS_SIMD_H_
