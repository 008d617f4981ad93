#include "bench/limits/stream_loops.h"

#if defined(__AVX512F__) || defined(__AVX__)
#include <immintrin.h>
#endif

namespace tessera::bench {
namespace {

constexpr int64_t kLine = 16;  // floats
typedef float V16 __attribute__((vector_size(64), aligned(64), may_alias));

void Put(float* p, V16 v) {
#if defined(__AVX512F__)
  _mm512_stream_ps(p, (__m512)v);
#elif defined(__AVX__)
  const float* halves = reinterpret_cast<const float*>(&v);
  _mm256_stream_ps(p, _mm256_load_ps(halves));
  _mm256_stream_ps(p + 8, _mm256_load_ps(halves + 8));
#else
  *reinterpret_cast<V16*>(p) = v;
#endif
}

V16 At(const float* p) { return *reinterpret_cast<const V16*>(p); }

struct Part {
  int64_t begin, end;  // in floats, whole lines
};
Part PartOf(int64_t floats, int64_t part, int64_t parts) {
  const int64_t lines = floats / kLine;
  return {lines * part / parts * kLine, lines * (part + 1) / parts * kLine};
}

}  // namespace

void StreamRead::Run(int64_t part, int64_t parts) const {
  constexpr int64_t kSums = 8;
  const auto [begin, end] = PartOf(floats, part, parts);
  V16 sum[kSums] = {};
  int64_t i = begin;
  for (; i + kSums * kLine <= end; i += kSums * kLine)
    for (int64_t s = 0; s < kSums; ++s) sum[s] += At(from + i + s * kLine);
  for (; i < end; i += kLine) sum[0] += At(from + i);
  for (int64_t s = 1; s < kSums; ++s) sum[0] += sum[s];
  float all = 0;
  for (int64_t l = 0; l < kLine; ++l) all += sum[0][l];
  sums[part] = all;
}

void StreamCopy::Run(int64_t part, int64_t parts) const {
  const auto [begin, end] = PartOf(floats, part, parts);
  for (int64_t i = begin; i < end; i += kLine) Put(to + i, At(from + i));
}

void StreamWrite::Run(int64_t part, int64_t parts) const {
  const auto [begin, end] = PartOf(floats, part, parts);
  const V16 ones = V16{} + 1.0f;
  for (int64_t i = begin; i < end; i += kLine) Put(to + i, ones);
}

}  // namespace tessera::bench
