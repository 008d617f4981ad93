#ifndef TESSERA_QUANT_BLOCK_LOOPS_H_
#define TESSERA_QUANT_BLOCK_LOOPS_H_
// For quant/row_code_simd.cc: one block of a block code. Affine codes, the hot ones, by packs that
// are clamped and rounded, whose last bits are the codes; others as plain loops that the compiler
// vectorizes.
#include <bit>
#include <type_traits>

#include "quant/range_search.h"
#include "quant/row_formulas.h"
#include "runtime/lanes.h"
#include "runtime/simd.h"

namespace tessera::internal::TESSERA_ISA {

// Numbers that a loop takes at a time, known when it is compiled: short rows are vectorized too.
constexpr int kChunk = 16;

typedef int32_t Keys __attribute__((vector_size(Pack::kSize * sizeof(float))));
typedef int32_t UnalignedKeys
    __attribute__((vector_size(Pack::kSize * sizeof(float)), aligned(4), may_alias));

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

inline RowRange RangeOf(const float* x, int64_t n) {
  const auto lower = [](auto a, auto b) { return a < b ? a : b; };
  const auto higher = [](auto a, auto b) { return a > b ? a : b; };
  RowRange range;
  Keys low = Keys{} + range.low, high = Keys{} + range.high;
  int64_t i = 0;
  for (; i + Pack::kSize <= n; i += Pack::kSize) {
    const Keys keys = RowRange::KeyOf(Keys(*reinterpret_cast<const UnalignedKeys*>(x + i)));
    low = lower(keys, low);
    high = higher(keys, high);
  }
  range.Join(FoldKeys<Pack::kSize>(low, lower), FoldKeys<Pack::kSize>(high, higher));
  for (; i < n; ++i) range.Add(x[i]);
  return range;
}

// A Pack whose Max and Min take one instruction each, where a Pack's take two.
struct ClampedPack {
  Pack pack;
  explicit ClampedPack(Pack p) : pack(p) {}
  explicit ClampedPack(float all) : pack(all) {}
  friend ClampedPack operator+(ClampedPack a, ClampedPack b) {
    return ClampedPack(a.pack + b.pack);
  }
  friend ClampedPack operator-(ClampedPack a, ClampedPack b) {
    return ClampedPack(a.pack - b.pack);
  }
  friend ClampedPack operator*(ClampedPack a, ClampedPack b) {
    return ClampedPack(a.pack * b.pack);
  }
#if defined(__AVX512F__)
  using Register = __m512;
  static Register MaxOf(Register a, Register b) { return _mm512_maskz_max_ps(0xffff, a, b); }
  static Register MinOf(Register a, Register b) { return _mm512_maskz_min_ps(0xffff, a, b); }
#elif defined(__AVX__)
  using Register = __m256;
  static Register MaxOf(Register a, Register b) { return _mm256_max_ps(a, b); }
  static Register MinOf(Register a, Register b) { return _mm256_min_ps(a, b); }
#else
  using Register = Pack;
  static Register MaxOf(Register a, Register b) { return Max(b, a); }
  static Register MinOf(Register a, Register b) { return Min(b, a); }
#endif
  // The instructions give their second operand where the first is not the larger, or a NaN is there.
  friend ClampedPack Max(ClampedPack a, ClampedPack b) {
    return ClampedPack(std::bit_cast<Pack>(
        MaxOf(std::bit_cast<Register>(b.pack), std::bit_cast<Register>(a.pack))));
  }
  friend ClampedPack Min(ClampedPack a, ClampedPack b) {
    return ClampedPack(std::bit_cast<Pack>(
        MinOf(std::bit_cast<Register>(b.pack), std::bit_cast<Register>(a.pack))));
  }
};

inline Pack RoundedCodes(const AffineRow& row, const float* x, float top) {
  return row.Rounded(ClampedPack(Pack::Load(x)), top).pack;
}

#if defined(__F16C__)
struct ToHalf {
  float operator()(float x) const { return _cvtsh_ss(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT)); }
};
inline uint16_t HalfBits(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }
#else
using ToHalf = AffineRow::ToHalf;
inline uint16_t HalfBits(float x) { return Half(x).bits; }
#endif

template <typename Block>
Block BlockOf(const RowRange& range) {
  if constexpr (Block::kAffine)
    return Block::Of(range, ToHalf());
  else
    return Block::Of(range);
}
template <typename Block>
void StoreBlock(const Block& block, uint8_t* params) {
  if constexpr (Block::kAffine) {
    if constexpr (Block::kHalves)
      return StoreWord(params, HalfBits(block.row.scale) |
                                   static_cast<uint32_t>(HalfBits(block.row.bias)) << 16);
  }
  block.Store(params);
}

typedef uint32_t Words __attribute__((vector_size(Pack::kSize * sizeof(float)), may_alias));
typedef uint8_t Bytes __attribute__((vector_size(Pack::kSize)));
typedef uint8_t UnalignedBytes __attribute__((vector_size(Pack::kSize), aligned(1), may_alias));

// The low byte of each word.
inline __attribute__((always_inline)) Bytes LowBytes(Words words) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  // A shuffle, since GCC 12 would move byte by byte.
  const __m256i each = _mm256_shuffle_epi8(__m256i(words), _mm256_set1_epi32(0x0c080400));
  const __m128i both =
      _mm_unpacklo_epi32(_mm256_castsi256_si128(each), _mm256_extracti128_si256(each, 1));
  return std::bit_cast<Bytes>(_mm_cvtsi128_si64(both));
#else
  return __builtin_convertvector(words & 255u, Bytes);
#endif
}

template <typename Block>
void CodesOf(const Block& block, const float* __restrict x, int64_t n, uint8_t* __restrict codes) {
  int64_t i = 0;
  for (; i + kChunk <= n; i += kChunk) {
    alignas(Words) uint32_t wide[kChunk];
    for (int k = 0; k < kChunk; ++k) wide[k] = block.Code(x[i + k]);
    for (int k = 0; k < kChunk; k += Pack::kSize)
      *reinterpret_cast<UnalignedBytes*>(codes + i + k) =
          __builtin_convertvector(*reinterpret_cast<const Words*>(wide + k), Bytes);
  }
  for (; i < n; ++i) codes[i] = static_cast<uint8_t>(block.Code(x[i]));
}
template <typename Block>
requires(Block::kAffine) void CodesOf(const Block& block, const float* __restrict x, int64_t n,
                                      uint8_t* __restrict codes) {
  const AffineRow row = block.row;
  int64_t i = 0;
  for (; i + Pack::kSize <= n; i += Pack::kSize) {
    *reinterpret_cast<UnalignedBytes*>(codes + i) =
        LowBytes(std::bit_cast<Words>(RoundedCodes(row, x + i, Block::kTop)));
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
requires(!Code::Params::kAffine) void PackCodes(const typename Code::Params& block, const float* x,
                                                int64_t n, uint8_t* out) {
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
// Codes of 4 and 2 bits straight from registers: two neighbours lie in 64 bits, where a shift brings
// the second beside the first.
typedef uint64_t Pairs __attribute__((vector_size(Pack::kSize * sizeof(float)), may_alias));
typedef uint16_t PairWords __attribute__((vector_size(Pack::kSize * 2), may_alias));
typedef uint8_t PairBytes __attribute__((vector_size(Pack::kSize / 2)));
typedef uint8_t UnalignedPairBytes
    __attribute__((vector_size(Pack::kSize / 2), aligned(1), may_alias));

// One byte for two codes.
template <typename Block>
inline __attribute__((always_inline)) PairBytes PairsOf(const Block& block, const float* x) {
  constexpr uint32_t kMask = (1u << Block::kBits) - 1;
  const auto codes =
      std::bit_cast<Pairs>(std::bit_cast<Words>(RoundedCodes(block.row, x, Block::kTop)) & kMask);
  return __builtin_convertvector(codes | codes >> (32 - Block::kBits), PairBytes);
}

// kPacks·Pack::kSize codes.
template <typename Code, int kPacks>
inline __attribute__((always_inline)) void PackSome(const typename Code::Params& block,
                                                    const float* x, uint8_t* out) {
  constexpr int kPairs = kPacks * Pack::kSize / 2;
  alignas(64) uint16_t pairs[kPairs / 2];
  auto* bytes = Code::kPerByte == 2 ? out : reinterpret_cast<uint8_t*>(pairs);
  TESSERA_UNROLL
  for (int k = 0; k < kPacks; ++k)
    *reinterpret_cast<UnalignedPairBytes*>(bytes + k * Pack::kSize / 2) =
        PairsOf(block, x + k * Pack::kSize);
  if constexpr (Code::kPerByte == 4 && kPairs / 2 == Pack::kSize) {
    const PairWords words = *reinterpret_cast<const PairWords*>(pairs);
    *reinterpret_cast<UnalignedBytes*>(out) = __builtin_convertvector(words | words >> 4, Bytes);
  } else if constexpr (Code::kPerByte == 4) {
    for (int b = 0; b < kPairs / 2; ++b) out[b] = static_cast<uint8_t>(pairs[b] | pairs[b] >> 4);
  }
}

template <typename Code>
requires(Code::Params::kAffine) void PackCodes(const typename Code::Params& given, const float* x,
                                               int64_t n, uint8_t* out) {
  const auto block = given;
  constexpr int kMany = 4;
  int64_t i = 0;
  for (; i + kMany * Pack::kSize <= n; i += kMany * Pack::kSize)
    PackSome<Code, kMany>(block, x + i, out + i / Code::kPerByte);
  for (; i + Pack::kSize <= n; i += Pack::kSize)
    PackSome<Code, 1>(block, x + i, out + i / Code::kPerByte);
  for (int64_t b = i / Code::kPerByte; b < Code::UsedBytes(n); ++b)
    out[b] = Code::CodeByte(block, x, n, b);
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

// Σ (x − value(code(x)))², in lane order.
template <typename Block>
float SquaredError(const Block& given, const float* x, int64_t n) {
  const AffineRow row = given.row;
  constexpr int kPacks = kLanes / Pack::kSize;
  Pack sum[kPacks];
  for (Pack& s : sum) s = Pack(0.0f);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    TESSERA_UNROLL
    for (int k = 0; k < kPacks; ++k) {
      const Pack value = Pack::Load(x + i + k * Pack::kSize);
      const Pack code = RoundedCodes(row, x + i + k * Pack::kSize, Block::kTop) - Pack(0x1p23f);
      const Pack d = value - (code * Pack(row.scale) + Pack(row.bias));
      sum[k] = sum[k] + d * d;
    }
  }
  alignas(64) float lane[kLanes];
  for (int k = 0; k < kPacks; ++k) sum[k].Store(lane + k * Pack::kSize);
  for (int l = 0; i + l < n; ++l) {
    const float d = x[i + l] - given.Value(given.Code(x[i + l]));
    lane[l] += d * d;
  }
  return FoldLanes(lane);
}

template <typename Block>
Block ParamsOf(const float* x, int64_t n, bool search) {
  const RowRange range = RangeOf(x, n);
  if constexpr (Block::kSearchable)
    if (search)
      return SearchRange(range, BlockOf<Block>,
                         [&](const Block& b) { return SquaredError(b, x, n); });
  return BlockOf<Block>(range);
}

template <typename Code>
void EncodeBlock(const typename Code::Params& block, const float* x, int64_t n, uint8_t* out) {
  uint8_t* codes = out + Code::CodesAt();
  if constexpr (Code::kPerByte == 1)
    CodesOf(block, x, n, codes);
  else
    PackCodes<Code>(block, x, n, codes);
  for (int64_t b = Code::UsedBytes(n); b < Code::CodeBytes(n); ++b) codes[b] = 0;
  StoreBlock(block, out + Code::ParamsAt(n));
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
