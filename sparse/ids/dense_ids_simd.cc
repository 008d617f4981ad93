#include "sparse/ids/dense_ids.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__AVX2__)
#include "sparse/ids/set_bits.h"
#endif

namespace tessera::internal::TESSERA_ISA {
namespace {

// Loops copy the fields of a DenseIds: the compiler must assume that their stores could change it.

// Calls fn(const Index* ids).
template <typename Fn>
void VisitIds(const DenseIds& d, Fn fn) {
  if (d.wide)
    fn(static_cast<const int64_t*>(d.ids));
  else
    fn(static_cast<const int32_t*>(d.ids));
}

struct Bit {
  uint64_t word;
  uint32_t bit;
};
Bit BitOf(uint64_t id, uint64_t low) {
  return {(id - low) / 64, static_cast<uint32_t>((id - low) % 64)};
}

uint64_t LastWord(const DenseIds& d) {
  return BitOf(static_cast<uint64_t>(d.high), static_cast<uint64_t>(d.low)).word;
}

#if defined(__AVX512F__)
// Writes first + the place of each bit set, at `to`; eight numbers are written.
template <typename Index>
void WriteEight(uint8_t bits, uint64_t first, Index* to) {
  const __m512i ids = _mm512_add_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),
                                       _mm512_set1_epi64(static_cast<long long>(first)));
  const __m512i some = _mm512_maskz_compress_epi64(bits, ids);
  if constexpr (sizeof(Index) == 8)
    _mm512_storeu_epi64(to, some);
  else
    _mm256_storeu_epi32(to, _mm512_cvtepi64_epi32(some));
}
#elif defined(__AVX2__)
template <typename Index>
void WriteEight(uint8_t bits, uint64_t first, Index* to) {
  const __m128i at = LoadEight(kSetBits.at[bits]);
  auto* const out = reinterpret_cast<__m256i*>(to);
  if constexpr (sizeof(Index) == 8) {
    const __m256i base = _mm256_set1_epi64x(static_cast<long long>(first));
    _mm256_storeu_si256(out, _mm256_add_epi64(_mm256_cvtepu8_epi64(at), base));
    _mm256_storeu_si256(out + 1,
                        _mm256_add_epi64(_mm256_cvtepu8_epi64(_mm_srli_si128(at, 4)), base));
  } else {
    const __m256i base = _mm256_set1_epi32(static_cast<int>(first));
    _mm256_storeu_si256(out, _mm256_add_epi32(_mm256_cvtepu8_epi32(at), base));
  }
}
#endif

template <typename Index>
Index IdOfLowestBit(uint64_t word, uint64_t first) {
  return static_cast<Index>(first + static_cast<uint64_t>(__builtin_ctzll(word)));
}

#if defined(__AVX2__)
// In a word with few bits set it is faster to look for each, four at a time. Values behind the last
// are written over: `| 1 << 63` gives ctz a bit to find.
constexpr int kFewBits = 8;
template <typename Index>
void WriteFew(uint64_t word, int count, uint64_t first, Index* values) {
  for (int i = 0; i < count; i += 4)
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k, word &= word - 1)
      values[i + k] = IdOfLowestBit<Index>(word | uint64_t{1} << 63, first);
}

template <typename Index>
void WriteMany(uint64_t word, uint64_t first, Index* values) {
  for (; word != 0; word >>= 8, first += 8) {
    const auto bits = static_cast<uint8_t>(word);
    WriteEight(bits, first, values);
    values += __builtin_popcount(bits);
  }
}
#endif

// Writes the ids from `first` on whose bits are set, to values[0 … ); returns their end. Up to
// seven more are written before `end`.
template <typename Index>
Index* WriteWord(uint64_t word, uint64_t first, Index* values, Index* end) {
#if defined(__AVX2__)
  const int count = __builtin_popcountll(word);
  if (end - values >= count + 8) [[likely]] {
    count <= kFewBits ? WriteFew(word, count, first, values) : WriteMany(word, first, values);
    return values + count;
  }
#endif
  (void)end;
  for (; word != 0; word &= word - 1) *values++ = IdOfLowestBit<Index>(word, first);
  return values;
}

template <typename Index>
void WriteValues(const DenseIds& d, Index* values) {
  const uint64_t *words = d.words, last = LastWord(d);
  Index* const end = values + d.distinct;
  auto first = static_cast<uint64_t>(d.low);  // goes past the largest id
  for (uint64_t w = 0; w <= last; ++w, first += 64)
    values = WriteWord(words[w], first, values, end);
}

}  // namespace

void FindRange(DenseIds& d) {
  VisitIds(d, [&]<typename Index>(const Index* ids) {
    Index low = ids[0], high = ids[0];
    for (int64_t i = 1; i < d.n; ++i) {
      low = ids[i] < low ? ids[i] : low;
      high = ids[i] > high ? ids[i] : high;
    }
    d.low = low;
    d.high = high;
  });
}

void MarkDenseIds(DenseIds& d) {
  uint64_t* const words = d.words;
  VisitIds(d, [words, n = d.n, low = static_cast<uint64_t>(d.low)](const auto* ids) {
    for (int64_t i = 0; i < n; ++i) {
      const Bit at = BitOf(static_cast<uint64_t>(ids[i]), low);
      words[at.word] |= uint64_t{1} << at.bit;
    }
  });
  uint32_t* const ranks = d.ranks;
  uint32_t rank = 0;
  const uint64_t last = LastWord(d);
  for (uint64_t w = 0; w <= last; ++w) {
    ranks[w] = rank;
    rank += static_cast<uint32_t>(__builtin_popcountll(words[w]));
  }
  d.distinct = rank;
}

void WriteDenseIds(const DenseIds& d, const DenseIdsOutput& out) {
  const uint64_t* const words = d.words;
  const uint32_t* const ranks = d.ranks;
  const int64_t n = d.n;
  int64_t* const inverse = out.inverse;
  VisitIds(d, [&, low = static_cast<uint64_t>(d.low),
               before = out.first - 1]<typename Index>(const Index* ids) {
    WriteValues(d, static_cast<Index*>(out.values));
    for (int64_t i = 0; i < n; ++i) {
      const Bit at = BitOf(static_cast<uint64_t>(ids[i]), low);
      // Its own bit is among those counted.
      inverse[i] = before + ranks[at.word] + __builtin_popcountll(words[at.word] << (63 - at.bit));
    }
  });
  if (out.counts == nullptr) return;
  for (int64_t i = 0; i < n; ++i) ++out.counts[inverse[i] - out.first];
}

}  // namespace tessera::internal::TESSERA_ISA
