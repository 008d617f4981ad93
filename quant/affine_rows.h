#ifndef TESSERA_QUANT_AFFINE_ROWS_H_
#define TESSERA_QUANT_AFFINE_ROWS_H_
// For quant/row_code_simd.cc: rows encoded by affine codes, a tile of Pack::kSize rows at a time,
// whose parameters are made together, a lane a row. Then a row's numbers become bytes that
// saturated narrowing clamps, and bytes are multiplied and added into those of 4 and 2 bits.
#include <utility>

#include "quant/block_loops.h"
#include "quant/range_search.h"
#include "runtime/numbers/lanes.h"

namespace tessera::internal::TESSERA_ISA {

// ---- parameters

// Lanes k, k + 2, k + 4, … of a, then of b.
template <int k, typename V, int... kPairs>
inline __attribute__((always_inline)) V EverySecondLane(V a, V b,
                                                        std::integer_sequence<int, kPairs...>) {
  return __builtin_shufflevector(a, b, (2 * kPairs + k)...);
}

// Lane r: the element of rows[r] that `pick` prefers. Overwrites rows.
template <typename V, typename Pick>
inline __attribute__((always_inline)) V FoldEach(V (&rows)[Pack::kSize], const Pick& pick) {
  constexpr std::make_integer_sequence<int, Pack::kSize> pairs;
  TESSERA_UNROLL
  for (int n = Pack::kSize / 2; n > 0; n /= 2) {
    TESSERA_UNROLL
    for (int i = 0; i < n; ++i)
      rows[i] = pick(EverySecondLane<0>(rows[2 * i], rows[2 * i + 1], pairs),
                     EverySecondLane<1>(rows[2 * i], rows[2 * i + 1], pairs));
  }
  return rows[0];
}

inline Pack OneWhereZero(Pack of, Pack x) {
  typedef float Floats __attribute__((vector_size(sizeof(Pack))));
  const auto is_zero = std::bit_cast<Floats>(of) == Floats{};
  return std::bit_cast<Pack>(is_zero ? Floats{} + 1.0f : std::bit_cast<Floats>(x));
}

struct PackToHalf {
  Pack operator()(Pack x) const {
    Half rounded[Pack::kSize];
    x.Store(rounded);
    return Pack::Load(rounded);
  }
};

// Parameters of a tile's rows, as they are stored, and as codes are made from them.
template <typename Block>
struct TileParams {
  using Param = typename Block::Param;
  alignas(64) Param scale[Pack::kSize];
  alignas(64) Param bias[Pack::kSize];
  alignas(64) float subtracted[Pack::kSize];
  alignas(64) float inverse[Pack::kSize];

  void Set(const AffineRowOf<Pack>& rows) {
    rows.scale.Store(scale);
    rows.bias.Store(bias);
    rows.bias.Store(subtracted);
    rows.inverse.Store(inverse);
  }
  void Set(int64_t r, const AffineRow& row) {
    scale[r] = Param(row.scale);
    bias[r] = Param(row.bias);
    subtracted[r] = row.bias;
    inverse[r] = row.inverse;
  }
  AffineRow ForCodes(int64_t r) const { return {0.0f, subtracted[r], inverse[r]}; }
};

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
      const Pack code = row.Rounded(value, Block::kTop) - Pack(0x1p23f);
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

#if defined(__F16C__)
struct ToHalf {
  float operator()(float x) const { return _cvtsh_ss(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT)); }
};
#else
using ToHalf = AffineRow::ToHalf;
#endif

template <typename Block>
AffineRow SearchedRow(const float* x, int64_t n) {
  return SearchRange(
             RangeOf(x, n), [](const ValueRange& range) { return Block::Of(range, ToHalf()); },
             [&](const Block& b) { return SquaredError(b, x, n); })
      .row;
}

// ---- codes

#if defined(__AVX512F__)
#define TESSERA_INTS_(op) _mm512_##op
using Ints = __m512i;
// r, in a register: narrowing into memory takes several times as long.
template <typename Register>
inline __attribute__((always_inline)) Register InRegister(Register r) {
  __asm__("" : "+v"(r));
  return r;
}
// The low byte of each 16 bits, of each 32 bits.
inline __m256i LowBytes16(Ints words) { return InRegister(_mm512_maskz_cvtepi16_epi8(~0u, words)); }
inline __m128i LowBytes32(Ints words) {
  return InRegister(_mm512_maskz_cvtepi32_epi8(0xffff, words));
}
inline Ints InOrder(Ints bytes) {
  const Ints order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_maskz_permutexvar_epi32(0xffff, order, bytes);
}
inline Ints ToInts(Pack p) { return _mm512_maskz_cvtps_epi32(0xffff, std::bit_cast<__m512>(p)); }
inline Pack LowerOf(Pack p, Pack top) {
  return std::bit_cast<Pack>(
      _mm512_maskz_min_ps(0xffff, std::bit_cast<__m512>(top), std::bit_cast<__m512>(p)));
}
#elif defined(__AVX2__)
#define TESSERA_INTS_(op) _mm256_##op
using Ints = __m256i;
inline __m128i LowBytes16(Ints words) {
  return _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi16(words, words), 8));
}
inline __m128i LowBytes32(Ints words) {
  const Ints each = _mm256_shuffle_epi8(words, _mm256_set1_epi32(0x0c080400));
  return _mm_unpacklo_epi32(_mm256_castsi256_si128(each), _mm256_extracti128_si256(each, 1));
}
inline Ints InOrder(Ints bytes) {
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
inline Ints ToInts(Pack p) { return _mm256_cvtps_epi32(std::bit_cast<__m256>(p)); }
inline Pack LowerOf(Pack p, Pack top) {
  return std::bit_cast<Pack>(_mm256_min_ps(std::bit_cast<__m256>(top), std::bit_cast<__m256>(p)));
}
#endif

#if defined(TESSERA_INTS_)
// The first kBytes of a register of at least as many.
template <int kBytes, typename Register>
inline __attribute__((always_inline)) void StoreBytes(uint8_t* out, Register r) {
  if constexpr (kBytes == sizeof(Register)) {
    __builtin_memcpy(out, &r, kBytes);
  } else if constexpr (sizeof(Register) == 64) {
    StoreBytes<kBytes>(out, _mm512_castsi512_si256(r));
  } else if constexpr (sizeof(Register) == 32) {
    StoreBytes<kBytes>(out, _mm256_castsi256_si128(r));
  } else {
    static_assert(kBytes <= 8 && sizeof(Register) == 16);
    const int64_t low = _mm_cvtsi128_si64(r);
    __builtin_memcpy(out, &low, kBytes);
  }
}

// The codes of 4 packs of numbers, of which the first kPacks are given, a byte each. What rounding
// gives for a NaN is negative, and narrowing makes 0 of it, as of what lies below.
template <int kPacks>
inline __attribute__((always_inline)) Ints CodeBytes(const AffineRowOf<Pack>& row, Pack top,
                                                     const float* x) {
  Ints z[4];
  TESSERA_UNROLL
  for (int k = 0; k < 4; ++k) {
    const Pack p = Pack::Load(x + (k < kPacks ? k : 0) * Pack::kSize);
    z[k] = ToInts(LowerOf(row.Scaled(p), top));
  }
  return InOrder(TESSERA_INTS_(packus_epi16)(TESSERA_INTS_(packs_epi32)(z[0], z[1]),
                                             TESSERA_INTS_(packs_epi32)(z[2], z[3])));
}

// kPacks·Pack::kSize codes.
template <typename Code, int kPacks>
inline __attribute__((always_inline)) void PackSome(const AffineRowOf<Pack>& row, const float* x,
                                                    uint8_t* out) {
  constexpr int kBytes = kPacks * Pack::kSize / Code::kPerByte;
  const Ints bytes = CodeBytes<kPacks>(row, Pack(Code::Params::kTop), x);
  if constexpr (Code::kPerByte == 1)
    return StoreBytes<kBytes>(out, bytes);
  else if constexpr (Code::kPerByte == 2)
    return StoreBytes<kBytes>(out, LowBytes16(TESSERA_INTS_(maddubs_epi16)(
                                       bytes, TESSERA_INTS_(set1_epi16)(1 | 16 << 8))));
  else
    return StoreBytes<kBytes>(
        out, LowBytes32(TESSERA_INTS_(madd_epi16)(
                 TESSERA_INTS_(maddubs_epi16)(bytes, TESSERA_INTS_(set1_epi16)(1 | 4 << 8)),
                 TESSERA_INTS_(set1_epi32)(1 | 16 << 16))));
}
#undef TESSERA_INTS_
#else
template <typename Code, int kPacks>
inline void PackSome(const AffineRowOf<Pack>& row, const float* x, uint8_t* out) {
  using Word = std::conditional_t<Code::kPerByte == 1, uint8_t,
                                  std::conditional_t<Code::kPerByte == 2, uint16_t, uint32_t> >;
  constexpr int kSize = kPacks * Pack::kSize;
  alignas(64) Word words[kSize / Code::kPerByte];
  for (int k = 0; k < kSize; k += Pack::kSize) {
    const auto codes =
        std::bit_cast<Words>(row.Rounded(Pack::Load(x + k), Code::Params::kTop)) & 255u;
    *reinterpret_cast<UnalignedBytes*>(reinterpret_cast<uint8_t*>(words) + k) =
        __builtin_convertvector(codes, Bytes);
  }
  PackWords<Code>(words, kSize / Code::kPerByte, out);
}
#endif

template <typename Code>
inline __attribute__((always_inline)) void EncodeCodes(const AffineRow& row, const float* x,
                                                       int64_t n, uint8_t* out) {
  const AffineRowOf<Pack> packs{Pack(row.scale), Pack(row.bias), Pack(row.inverse)};
  constexpr int kMany = 4;
  int64_t i = 0;
  for (; i + kMany * Pack::kSize <= n; i += kMany * Pack::kSize)
    PackSome<Code, kMany>(packs, x + i, out + i / Code::kPerByte);
  for (; i + Pack::kSize <= n; i += Pack::kSize)
    PackSome<Code, 1>(packs, x + i, out + i / Code::kPerByte);
  int64_t b = i / Code::kPerByte;
  for (; b < Code::UsedBytes(n); ++b) out[b] = Code::CodeByte(typename Code::Params{row}, x, n, b);
  for (; b < Code::CodeBytes(n); ++b) out[b] = 0;
}

// ---- tiles

// The rows of one tile are read for their ranges while those of the tile before become codes: so
// memory and arithmetic are busy at the same time.
class TileRanges {
 public:
  __attribute__((always_inline)) void Set(int64_t r, const LaneRanges& row) {
    high_[r] = row.high;
    far_[r] = row.far;
    near_[r] = row.near;
  }
  // Parameters of all rows. Once for what was set.
  template <typename Block>
  AffineRowOf<Pack> Params() {
    const LaneRanges rows{FoldEach(high_, kLarger), FoldEach(far_, kLarger),
                          FoldEach(near_, kSmaller)};
    return Block::RowOf(std::bit_cast<Pack>(rows.min()), std::bit_cast<Pack>(rows.max()),
                        PackToHalf());
  }

 private:
  Keys high_[kTileRows] = {};
  Words far_[kTileRows] = {}, near_[kTileRows] = {};
};

template <typename Code>
void EncodeAffineRows(const CodedRows& segment, bool search) {
  using Block = typename Code::Params;
  const CodedRows s = segment;
  const int64_t used = RowBytesOf<Code>(s.row_size), params_at = Code::ParamsAt(s.row_size),
                step = TileRowsOf(s.row_size);
  TileRanges ranges;
  TileParams<Block> params;
  const auto row = [&](int64_t r) { return s.values + r * s.row_stride; };
  const auto meet = [&](int64_t first, int64_t r) __attribute__((always_inline)) {
    if (first + r < s.rows)
      ranges.Set(r, LaneRangesOf(row(first + r), s.row_size, step * s.row_stride));
  };
  for (int64_t r = 0; r < step; ++r) meet(0, r);
  for (int64_t first = 0; first < s.rows; first += step) {
    const int64_t count = s.rows - first < step ? s.rows - first : step;
    params.Set(ranges.Params<Block>());
    if constexpr (Block::kSearchable)
      for (int64_t r = 0; search && r < count; ++r)
        params.Set(r, SearchedRow<Block>(row(first + r), s.row_size));
    for (int64_t r = 0; r < count; ++r) {
      uint8_t* out = s.bytes + (first + r) * s.row_bytes;
      meet(first + step, r);
      EncodeCodes<Code>(params.ForCodes(r), row(first + r), s.row_size, out + Code::CodesAt());
      StoreParam(out + params_at, params.scale[r]);
      StoreParam(out + params_at + sizeof params.scale[r], params.bias[r]);
      FillUp(out, used, s.row_bytes);
    }
  }
}

}  // namespace tessera::internal::TESSERA_ISA
#endif  // TESSERA_QUANT_AFFINE_ROWS_H_
