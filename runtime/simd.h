#ifndef TESSERA_RUNTIME_SIMD_H_
#define TESSERA_RUNTIME_SIMD_H_
// Pack: as many floats as one register of this file's instruction set holds. For *_simd.cc files
// (tools/isa.bzl) and for rules that a user compiles alone; each level's Pack is a type of its own,
// in the level's namespace. GCC's vector types inside: with std::experimental::simd GCC 12 kept the
// sums of a lookup in memory instead of registers.
#if defined(__AVX512F__) || defined(__SSE2__)
#include <immintrin.h>
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

  // Writes past the caches. REQUIRES: p is aligned to the size of a Pack. Needs a StoreFence before
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

  friend Pack operator+(Pack a, Pack b) { return Pack(a.v_ + b.v_); }
  friend Pack operator-(Pack a, Pack b) { return Pack(a.v_ - b.v_); }
  friend Pack operator*(Pack a, Pack b) { return Pack(a.v_ * b.v_); }
  friend Pack operator/(Pack a, Pack b) { return Pack(a.v_ / b.v_); }
  friend Pack Sqrt(Pack a) {
#if defined(__AVX512F__)
    return Pack(Simd(_mm512_sqrt_ps(reinterpret_cast<__m512>(a.v_))));
#elif defined(__AVX__)
    return Pack(Simd(_mm256_sqrt_ps(reinterpret_cast<__m256>(a.v_))));
#elif defined(__SSE2__)
    return Pack(Simd(_mm_sqrt_ps(reinterpret_cast<__m128>(a.v_))));
#else
    for (int i = 0; i < kSize; ++i) a.v_[i] = __builtin_sqrtf(a.v_[i]);
    return a;
#endif
  }

 private:
  explicit Pack(Simd v) : v_(v) {}
  Simd v_;
};

// Before a loop over an array of Packs: unrolled early enough that the array lives in registers.
#define TESSERA_UNROLL _Pragma("GCC unroll 32")

// p, of which the compiler forgets how it was made: neighbouring packs are then reached by constant
// offsets from one register.
inline __attribute__((always_inline)) const float* Opaque(const float* p) {
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
inline __attribute__((always_inline)) void Prefetch(const void* p, long bytes) {
  const char* line = reinterpret_cast<const char*>(reinterpret_cast<unsigned long>(p) & ~63ul);
  for (const char* end = static_cast<const char*>(p) + bytes; line < end; line += 64) {
    if constexpr (purpose == PrefetchFor::kToL2)
      __builtin_prefetch(line, 0, 2);
    else if constexpr (purpose == PrefetchFor::kRead)
      __builtin_prefetch(line, 0, 3);
    else
      __builtin_prefetch(line, 1, 3);
  }
}

}  // namespace tessera::internal::TESSERA_ISA
#endif  // TESSERA_RUNTIME_SIMD_H_
