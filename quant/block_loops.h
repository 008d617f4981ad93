#ifndef TESSERA_QUANT_BLOCK_LOOPS_H_
#define TESSERA_QUANT_BLOCK_LOOPS_H_
// For quant/row_code_simd.cc: the range of a block of numbers; codes of blocks that are not affine
// (affine_rows.h), and numbers of codes, as plain loops that the compiler vectorizes.
#include <bit>
#include <type_traits>

#include "quant/row_formulas.h"
#include "runtime/numbers/simd.h"

namespace tessera::internal::TESSERA_ISA {

inline void FillUp(uint8_t* row, int64_t used, int64_t row_bytes) {
  if (used < row_bytes) __builtin_memset(row + used, 0, static_cast<size_t>(row_bytes - used));
}

// Rows of a tile, which are gone over twice: for their parameters, then for their codes.
constexpr int kTileRows = Pack::kSize;

// Number of rows that stay in the first-level cache.
inline int64_t TileRowsOf(int64_t row_size) {
  constexpr int64_t kBytes = 16 << 10;
  const int64_t fit = kBytes / (4 * row_size);
  return fit < 1 ? 1 : fit < kTileRows ? fit : kTileRows;
}

// Numbers that a loop takes at a time, known when it is compiled: short rows are vectorized too.
constexpr int kChunk = 16;

typedef int32_t Keys __attribute__((vector_size(Pack::kSize * sizeof(float))));
typedef uint32_t Words __attribute__((vector_size(Pack::kSize * sizeof(float))));
typedef uint32_t UnalignedWords
    __attribute__((vector_size(Pack::kSize * sizeof(float)), aligned(4), may_alias));

constexpr auto kSmaller = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto kLarger = [](auto a, auto b) { return a > b ? a : b; };

// Extremes that the range of numbers is derived from, in ValueRange's order: with the numbers' bits
// as integers, the largest signed one is the maximum unless all are negative, the largest unsigned
// one the minimum if any is negative, and the smallest unsigned one what is then left.
struct LaneRanges {
  Keys high;
  Words far, near;
  Keys max() const { return high < 0 ? Keys(near) : high; }
  Keys min() const { return Keys(far) < 0 ? Keys(far) : Keys(near); }
};

// Read once: GCC would read memory for each use.
inline __attribute__((always_inline)) Words BitsAt(const float* x) {
  Words bits(*reinterpret_cast<const UnalignedWords*>(x));
#if defined(__SSE2__)
  __asm__("" : "+v"(bits));
#endif
  return bits;
}

inline __attribute__((always_inline)) void AddBits(LaneRanges& range, Words bits) {
  range = {kLarger(Keys(bits), range.high), kLarger(bits, range.far), kSmaller(bits, range.near)};
}

// Lane by lane: their joint range is that of x. The numbers that lie `ahead` behind those of whole
// packs are asked for meanwhile. REQUIRES: n > 0.
inline __attribute__((always_inline)) LaneRanges LaneRangesOf(const float* x, int64_t n,
                                                              int64_t ahead) {
  float repeated[Pack::kSize];
  if (n < Pack::kSize) {
    for (int64_t i = 0; i < Pack::kSize; ++i) repeated[i] = x[i < n ? i : 0];
    Prefetch<PrefetchFor::kRead>(x + ahead, 4 * n);
    x = repeated;
    n = Pack::kSize;
    ahead = 0;
  }
  constexpr int kMany = 4 * Pack::kSize, kLine = 16;  // of a cache: floats
  LaneRanges range{Keys{} + INT32_MIN, Words{}, Words{} - 1};
  int64_t i = 0;
  for (; i + kMany <= n; i += kMany) {
    TESSERA_UNROLL
    for (int k = 0; k < kMany; k += kLine)
      PrefetchLine<PrefetchFor::kRead>(reinterpret_cast<const char*>(x + i + ahead + k));
    TESSERA_UNROLL
    for (int k = 0; k < kMany; k += Pack::kSize) AddBits(range, BitsAt(x + i + k));
  }
  Prefetch<PrefetchFor::kRead>(x + i + ahead, 4 * (n - i));
  for (; i + Pack::kSize <= n; i += Pack::kSize) AddBits(range, BitsAt(x + i));
  if (i < n) AddBits(range, BitsAt(x + n - Pack::kSize));  // some of them again
  return range;
}

// The element of v that `pick` prefers.
template <int kWidth, typename V, typename Pick>
int32_t FoldKeys(V v, const Pick& pick) {
  if constexpr (kWidth == 16)
    return FoldKeys<8>(pick(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
                            __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15)),
                       pick);
  else if constexpr (kWidth == 8)
    return FoldKeys<4>(
        pick(__builtin_shufflevector(v, v, 0, 1, 2, 3), __builtin_shufflevector(v, v, 4, 5, 6, 7)),
        pick);
  else
    return pick(pick(v[0], v[1]), pick(v[2], v[3]));
}

inline ValueRange RangeOf(const float* x, int64_t n, int64_t ahead = 0) {
  const LaneRanges lanes = LaneRangesOf(x, n, ahead);
  return {FoldKeys<Pack::kSize>(ValueRange::KeyOf(lanes.min()), kSmaller),
          FoldKeys<Pack::kSize>(ValueRange::KeyOf(lanes.max()), kLarger)};
}

typedef uint8_t Bytes __attribute__((vector_size(Pack::kSize)));
typedef uint8_t UnalignedBytes __attribute__((vector_size(Pack::kSize), aligned(1), may_alias));

template <typename Block>
void CodesOf(const Block& block, const float* __restrict x, int64_t n, uint8_t* __restrict codes) {
  int64_t i = 0;
  for (; i + kChunk <= n; i += kChunk) {
    alignas(Words) uint32_t wide[kChunk];
    for (int k = 0; k < kChunk; ++k) wide[k] = block.Code(x[i + k]);
    for (int k = 0; k < kChunk; k += Pack::kSize)
      *reinterpret_cast<UnalignedBytes*>(codes + i + k) =
          __builtin_convertvector(Words(*reinterpret_cast<const UnalignedWords*>(wide + k)), Bytes);
  }
  for (; i < n; ++i) codes[i] = static_cast<uint8_t>(block.Code(x[i]));
}
template <typename Block>
void ValuesOf(const Block& block, const uint8_t* __restrict codes, int64_t n, float* __restrict x) {
  int64_t i = 0;
  for (; i + kChunk <= n; i += kChunk)
    for (int k = 0; k < kChunk; ++k) x[i + k] = block.Value(codes[i + k]);
  for (; i < n; ++i) x[i] = block.Value(codes[i]);
}

// Codes are packed and unpacked so many at a time.
constexpr int64_t kPackedCodes = 256;

template <typename Code, typename Word>
void PackWords(const Word* __restrict words, int64_t n, uint8_t* __restrict out) {
  int64_t b = 0;
  for (; b + kChunk <= n; b += kChunk)
    for (int k = 0; k < kChunk; ++k) out[b + k] = Code::Packed(words[b + k]);
  for (; b < n; ++b) out[b] = Code::Packed(words[b]);
}
template <typename Code>
void PackCodes(const typename Code::Params& block, const float* x, int64_t n, uint8_t* out) {
  using Word = std::conditional_t<Code::kPerByte == 2, uint16_t, uint32_t>;
  static_assert(sizeof(Word) == Code::kPerByte);
  for (int64_t i = 0; i < n; i += kPackedCodes) {
    const int64_t count = n - i < kPackedCodes ? n - i : kPackedCodes;
    alignas(64) Word words[kPackedCodes / Code::kPerByte];
    auto* codes = reinterpret_cast<uint8_t*>(words);
    CodesOf(block, x + i, count, codes);
    const int64_t used = Code::UsedBytes(count);
    for (int64_t k = count; k < used * Code::kPerByte; ++k) codes[k] = 0;
    PackWords<Code>(words, used, out + i / Code::kPerByte);
  }
}
template <typename Code>
void UnpackCodes(const typename Code::Params& block, const uint8_t* in, int64_t n, float* x) {
  for (int64_t i = 0; i < n; i += kPackedCodes) {
    const int64_t count = n - i < kPackedCodes ? n - i : kPackedCodes;
    uint8_t codes[kPackedCodes];
    for (int64_t k = 0; k < count; ++k) codes[k] = static_cast<uint8_t>(Code::CodeAt(in, i + k));
    ValuesOf(block, codes, count, x + i);
  }
}

template <typename Code>
void EncodeBlock(const typename Code::Params& block, const float* x, int64_t n, uint8_t* out) {
  uint8_t* codes = out + Code::CodesAt();
  if constexpr (Code::kPerByte == 1)
    CodesOf(block, x, n, codes);
  else
    PackCodes<Code>(block, x, n, codes);
  for (int64_t b = Code::UsedBytes(n); b < Code::CodeBytes(n); ++b) codes[b] = 0;
  block.Store(out + Code::ParamsAt(n));
}

template <typename Code>
void DecodeBlock(const uint8_t* in, int64_t n, float* x) {
  const auto block = Code::Params::Load(in + Code::ParamsAt(n));
  if constexpr (Code::kPerByte == 1)
    ValuesOf(block, in + Code::CodesAt(), n, x);
  else
    UnpackCodes<Code>(block, in + Code::CodesAt(), n, x);
}

}  // namespace tessera::internal::TESSERA_ISA
#endif  // TESSERA_QUANT_BLOCK_LOOPS_H_
