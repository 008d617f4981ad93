#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "sparse/even_buckets.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

// Ids of which a block of bits is made at a time.
constexpr int64_t kBlock = 2048;

using Mask = uint32_t;  // 8 bits

// Eight ids as unsigned 64-bit numbers, or the first n < 8 and zeros. Whole loads and stores wherever
// they can be: with masks they take twice as long (Zen 5).
#if defined(__AVX512F__)
struct Eight {
  __m512i u;
  static Eight Load(const int64_t* ids) { return {_mm512_loadu_epi64(ids)}; }
  static Eight Load(const int32_t* ids) { return {_mm512_cvtepi32_epi64(_mm256_loadu_epi32(ids))}; }
  Mask AtLeast(uint64_t bound) const {
    return _mm512_cmpge_epu64_mask(u, _mm512_set1_epi64(static_cast<long long>(bound)));
  }
};

void Store(int64_t* to, __m512i x) { _mm512_storeu_epi64(to, x); }
void Store(int32_t* to, __m512i x) { _mm256_storeu_epi32(to, _mm512_cvtepi64_epi32(x)); }
void StoreLanes(int64_t* to, __m512i x, Mask lanes) {
  _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(lanes), x);
}
void StoreLanes(int32_t* to, __m512i x, Mask lanes) {
  _mm256_mask_storeu_epi32(to, static_cast<__mmask8>(lanes), _mm512_cvtepi64_epi32(x));
}
#else
struct Eight {
  uint64_t u[8];
  template <typename Index>
  static Eight Load(const Index* ids) {
    Eight eight;
    for (int i = 0; i < 8; ++i) eight.u[i] = static_cast<uint64_t>(static_cast<int64_t>(ids[i]));
    return eight;
  }
  Mask AtLeast(uint64_t bound) const {
    Mask mask = 0;
    for (int i = 0; i < 8; ++i) mask |= static_cast<Mask>(u[i] >= bound) << i;
    return mask;
  }
};
#endif

Mask FirstLanes(int64_t n) { return (1u << n) - 1; }

template <typename Index>
Eight LoadFirst(const Index* ids, int64_t n) {
  Index some[8] = {};
  for (int64_t i = 0; i < n; ++i) some[i] = ids[i];
  return Eight::Load(some);
}

// Bits [bound][id] of a block of ids. A row is read eight bytes at a time, from any byte on.
struct Bits {
  static constexpr int64_t kRow = kBlock / 8 + 8;
  uint8_t bytes[kMostEvenBuckets][kRow];

  // Of ids [0, n); false if one reaches the last bound.
  template <typename Index>
  bool Fill(const EvenBuckets& b, const Index* ids, int64_t n) {
    Mask outside = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) outside |= FillEight(b, Eight::Load(ids + i), i);
    if (i < n) outside |= FillEight(b, LoadFirst(ids + i, n - i), i) & FirstLanes(n - i);
    return outside == 0;
  }
  Mask FillEight(const EvenBuckets& b, const Eight& eight, int64_t i) {
    for (int64_t k = 0; k + 1 < b.buckets; ++k)
      bytes[k][i / 8] = static_cast<uint8_t>(eight.AtLeast(b.bounds[k]));
    return eight.AtLeast(b.bounds[b.buckets - 1]);
  }

  // Ones of row k in [begin, end).
  int64_t Count(int64_t k, int64_t begin, int64_t end) const {
    int64_t count = 0;
    for (int64_t i = begin; i < end;) {
      const int64_t shift = i & 7, n = end - i < 57 ? end - i : 57 - shift;
      uint64_t word;
      __builtin_memcpy(&word, &bytes[k][i >> 3], 8);
      count += __builtin_popcountll(word >> shift << (64 - n));
      i += n;
    }
    return count;
  }
};

// Counts of bag b from the block of ids [first, first + n): set by its first part, else added to.
template <typename Length>
void CountBag(const CountEvenArgs& args, const Bits& bits, int64_t b, int64_t first, int64_t n) {
  const bool begins = args.at[b] >= first;
  const int64_t begin = begins ? args.at[b] - first : 0;
  const int64_t end = args.at[b + 1] - first < n ? args.at[b + 1] - first : n;
  Length* lengths = static_cast<Length*>(args.lengths) + b;
  int64_t reached = end - begin;
  const int64_t last = args.buckets->buckets - 1;
  for (int64_t k = 0; k <= last; ++k) {
    const int64_t further = k < last ? bits.Count(k, begin, end) : 0;
    Length& length = lengths[k * args.stride];
    length = static_cast<Length>((begins ? 0 : length) + reached - further);
    reached = further;
  }
}

template <typename Index, typename Length>
bool Count(const CountEvenArgs& args) {
  Bits bits;
  const int64_t end = args.at[args.end];
  int64_t bag = args.begin;
  for (int64_t first = args.at[bag]; bag < args.end; first += kBlock) {
    const int64_t n = end - first < kBlock ? end - first : kBlock;
    if (!bits.Fill(*args.buckets, static_cast<const Index*>(args.ids) + first, n)) return false;
    for (; bag < args.end && args.at[bag + 1] <= first + n; ++bag)
      CountBag<Length>(args, bits, bag, first, n);
    if (bag < args.end && args.at[bag] < first + n) CountBag<Length>(args, bits, bag, first, n);
  }
  return true;
}

// Deals ids out, with the next free slots at hand. kBuckets: how many there are; 0: found at run
// time.
template <typename Index, int kBuckets>
class Dealer {
 public:
  explicit Dealer(const DealEvenArgs& args)
      : b_(*args.buckets),
        ids_(static_cast<const Index*>(args.ids)),
        out_(static_cast<Index*>(args.out)),
        slots_(static_cast<Index*>(args.slots)),
        keep_ids_(args.keep_ids) {
    for (int64_t k = 0; k < buckets(); ++k) {
      next_[k] = args.next[k];
      ends_[k] = args.ends[k];
    }
  }
  void Run(int64_t begin, int64_t end) {
    int64_t i = begin;
    for (; i + 8 <= end; i += 8) DealEight(i, Eight::Load(ids_ + i), 0xff);
    if (i < end) DealEight(i, LoadFirst(ids_ + i, end - i), FirstLanes(end - i));
  }
  void Finish(int64_t* next) const {
    for (int64_t k = 0; k < buckets(); ++k) next[k] = next_[k];
  }

 private:
  int64_t buckets() const { return kBuckets > 0 ? kBuckets : b_.buckets; }
  void DealEight(int64_t i, Eight eight, Mask lanes);

  const EvenBuckets b_;
  const Index* const ids_;
  Index *const out_, *const slots_;
  const bool keep_ids_;
  int64_t next_[kMostEvenBuckets], ends_[kMostEvenBuckets];
};

#if defined(__AVX512F__)
// Bucket after bucket: what reaches the next bound goes on, less a width.
template <typename Index, int kBuckets>
inline void Dealer<Index, kBuckets>::DealEight(int64_t i, Eight eight, Mask lanes) {
  const __m512i numbers = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
  const __m512i width = _mm512_set1_epi64(keep_ids_ ? 0 : static_cast<long long>(b_.width));
  __m512i slots = numbers;
  Mask left = lanes;
  for (int64_t k = 0; k < buckets(); ++k) {
    const uint64_t bound = keep_ids_ ? b_.bounds[k] : b_.width;
    const Mask further = k + 1 < buckets() ? eight.AtLeast(bound) & left : 0;
    const auto here = static_cast<__mmask8>(left & ~further);
    const int count = __builtin_popcount(here);
    const __m512i ids = _mm512_maskz_compress_epi64(here, eight.u);
    if (next_[k] + 8 <= ends_[k]) [[likely]]
      Store(out_ + next_[k], ids);  // what is too much is written over by the next ids
    else
      StoreLanes(out_ + next_[k], ids, FirstLanes(count));
    if (slots_ != nullptr)
      slots = _mm512_mask_expand_epi64(slots, here,
                                       _mm512_add_epi64(numbers, _mm512_set1_epi64(next_[k])));
    next_[k] += count;
    eight.u = _mm512_mask_sub_epi64(eight.u, static_cast<__mmask8>(further), eight.u, width);
    left = further;
  }
  if (slots_ == nullptr) return;
  if (lanes == 0xff)
    Store(slots_ + i, slots);
  else
    StoreLanes(slots_ + i, slots, lanes);
}
#else
template <typename Index, int kBuckets>
inline void Dealer<Index, kBuckets>::DealEight(int64_t i, Eight eight, Mask lanes) {
  for (int lane = 0; lanes != 0; lanes >>= 1, ++lane, ++i) {
    int64_t bucket = 0;
    for (int64_t k = 0; k + 1 < buckets(); ++k) bucket += eight.u[lane] >= b_.bounds[k];
    const uint64_t first = keep_ids_ ? 0 : static_cast<uint64_t>(bucket) * b_.width;
    const int64_t slot = next_[bucket]++;
    out_[slot] = static_cast<Index>(eight.u[lane] - first);
    if (slots_ != nullptr) slots_[i] = static_cast<Index>(slot);
  }
}
#endif

template <typename Index, int kBuckets>
void Deal(const DealEvenArgs& args) {
  Dealer<Index, kBuckets> dealer(args);
  dealer.Run(args.begin, args.end);
  dealer.Finish(args.next);
}

template <typename Index>
void DealOfType(const DealEvenArgs& args) {
  if (args.buckets->buckets == 2) return Deal<Index, 2>(args);
  if (args.buckets->buckets == 4) return Deal<Index, 4>(args);
  if (args.buckets->buckets == 8) return Deal<Index, 8>(args);
  Deal<Index, 0>(args);
}

}  // namespace

void CountEven(const CountEvenArgs& args) {
  const auto count = [&](auto id) {
    using Index = decltype(id);
    return args.wide_lengths ? Count<Index, int64_t>(args) : Count<Index, int32_t>(args);
  };
  *args.complete = args.wide_ids ? count(int64_t{}) : count(int32_t{});
}

void DealEven(const DealEvenArgs& args) {
  if (args.wide_ids)
    DealOfType<int64_t>(args);
  else
    DealOfType<int32_t>(args);
}

}  // namespace tessera::internal::TESSERA_ISA
