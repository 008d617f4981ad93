#include "sparse/ids/even_buckets.h"
#include "sparse/ids/id_vector_simd.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

// A block of bits is made of so many ids at a time.
constexpr int64_t kBlock = 2048;

// Prefetches the ids that come a block later: the work between blocks makes the hardware's own
// prefetching stop.
template <typename Ids, typename Index>
[[gnu::always_inline]] inline void Ask(const Index* ids) {
  const char* later = reinterpret_cast<const char*>(ids + kBlock);
  for (int byte = 0; byte < Ids::kLanes * static_cast<int>(sizeof(Index)); byte += 64)
    __builtin_prefetch(later + byte);
}

// Calls fn.operator()<k>(), where k is the number of buckets; 0 if it is known at run time alone.
template <typename Fn>
auto VisitBuckets(const EvenBuckets& b, const Fn& fn) {
  if (b.buckets == 2) return fn.template operator()<2>();
  if (b.buckets == 4) return fn.template operator()<4>();
  if (b.buckets == 8) return fn.template operator()<8>();
  return fn.template operator()<0>();
}

// Loads ids [i, i + n) for n < kLanes, of which `readable` may be read; further lanes hold
// anything.
template <typename Ids, typename Index>
[[gnu::always_inline]] inline Ids LoadLast(const Index* ids, int64_t i, int64_t n,
                                           int64_t readable) {
  return i + Ids::kLanes <= readable ? Ids::Load(ids + i) : Ids::LoadFirst(ids + i, n);
}

// The number of a block's ids, up to any place, that reach each bound.
template <typename Ids>
class Ranks {
 public:
  // Ranks ids [0, n), of which `readable` may be read; totals[k] += those in bucket k. False if one
  // reaches the last bound.
  template <typename Index>
  bool Fill(const EvenBuckets& b, const Index* ids, int64_t n, int64_t readable, int64_t* totals) {
    return VisitBuckets(
        b, [&]<int kBuckets>() { return FillAll<kBuckets>(b, ids, n, readable, totals); });
  }
  // reached[i], for i < n: how many of ids [0, ends[i]) reach bound k. Reads and writes up to 15
  // more.
  void At(int64_t k, const uint32_t* ends, int64_t n, uint32_t* reached) const;

 private:
  template <int kBuckets, typename Index>
  bool FillAll(const EvenBuckets& b, const Index* ids, int64_t n, int64_t readable,
               int64_t* totals) {
    uint32_t reached[kMaxEvenBuckets] = {};
    Mask outside = 0;
    int64_t i = 0;
    for (; i + Ids::kLanes <= n; i += Ids::kLanes) {
      Ask<Ids>(ids + i);
      outside |= FillGroup<kBuckets>(b, Ids::Load(ids + i), ~Mask{0}, i / Ids::kLanes, reached);
    }
    const Mask some = FirstLanes(n - i);
    const Ids last = LoadLast<Ids>(ids, i, n - i, readable);
    outside |= FillGroup<kBuckets>(b, last, some, i / Ids::kLanes, reached) & some;
    reached[b.buckets - 1] = 0;
    for (int64_t k = 0; k < b.buckets; ++k) totals[k] += (k > 0 ? reached[k - 1] : n) - reached[k];
    return outside == 0;
  }
  template <int kBuckets>
  [[gnu::always_inline]] Mask FillGroup(const EvenBuckets& b, const Ids& ids, Mask some,
                                        int64_t group, uint32_t* reached) {
    const int64_t last = (kBuckets > 0 ? kBuckets : b.buckets) - 1;
#pragma GCC unroll 8
    for (int64_t k = 0; k < last; ++k) {
      const Mask mask = ids.AtLeast(b.bounds[k]) & some;
      words_[k][group] = reached[k] << 16 | mask;
      reached[k] += static_cast<uint32_t>(__builtin_popcount(mask));
    }
    return ids.AtLeast(b.bounds[last]);
  }

  // A word for each group of ids: 16 bits count those before the group that reach the bound, and
  // each id of the group has one bit.
  uint32_t words_[kMaxEvenBuckets - 1][kBlock / Ids::kLanes + 1];
};

#if defined(__AVX512F__)
// The number of ones in each 32-bit lane, of whose bits only the low 16 may be set.
__m512i CountOnes(__m512i x) {
  const __m512i nibble = _mm512_set1_epi8(0x0f);
  const __m512i ones =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
  const __m512i low = _mm512_shuffle_epi8(ones, _mm512_and_si512(x, nibble));
  const __m512i high = _mm512_shuffle_epi8(ones, _mm512_and_si512(_mm512_srli_epi32(x, 4), nibble));
  const __m512i bytes = _mm512_add_epi8(low, high);
  const __m512i sum = _mm512_add_epi32(bytes, _mm512_srli_epi32(bytes, 8));
  return _mm512_and_si512(sum, _mm512_set1_epi32(0xff));
}

template <typename Ids>
void Ranks<Ids>::At(int64_t k, const uint32_t* ends, int64_t n, uint32_t* reached) const {
  const __m512i lanes = _mm512_set1_epi32(Ids::kLanes - 1), sixteen = _mm512_set1_epi32(16);
  for (int64_t i = 0; i < n; i += 16) {
    const __m512i end = _mm512_loadu_epi32(ends + i);
    const __m512i group = _mm512_srli_epi32(end, Ids::kLanes == 16 ? 4 : 3);
    const __m512i word = _mm512_i32gather_epi32(group, words_[k], 4);
    const __m512i cut = _mm512_sub_epi32(sixteen, _mm512_and_si512(end, lanes));
    const __m512i before =
        _mm512_and_si512(_mm512_sllv_epi32(word, cut), _mm512_set1_epi32(0xffff));
    _mm512_storeu_epi32(reached + i,
                        _mm512_add_epi32(_mm512_srli_epi32(word, 16), CountOnes(before)));
  }
}
#else
template <typename Ids>
void Ranks<Ids>::At(int64_t k, const uint32_t* ends, int64_t n, uint32_t* reached) const {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t word = words_[k][ends[i] / Ids::kLanes];
    const auto before = static_cast<uint16_t>(word << (16 - ends[i] % Ids::kLanes));
    reached[i] = (word >> 16) + static_cast<uint32_t>(__builtin_popcount(before));
  }
}
#endif

constexpr int64_t kEnds = 128;  // of bags, at a time

// Counts a run of fewer than kEnds bags that begin or end in the block of ids [first, first + n):
// counts are set, but those of a first bag that began before are added to.
template <typename Ids, typename Length>
void CountBags(const CountEvenArgs& args, const Ranks<Ids>& ranks, int64_t begin, int64_t end,
               int64_t first, int64_t n) {
  const bool continues = args.at[begin] < first;
  const int64_t last = args.buckets->buckets - 1, bags = end - begin;
  uint32_t ends[kEnds + 16];        // in the block
  uint32_t reached[2][kEnds + 16];  // of the ids up to there, those of bucket k or a later one
  for (int64_t b = 0; b <= bags; ++b) {
    const int64_t at = args.at[begin + b] - first;
    ends[b] = reached[0][b] = static_cast<uint32_t>(at < 0 ? 0 : at < n ? at : n);
  }
  for (int64_t b = bags + 1; b < bags + 16; ++b) ends[b] = 0;
  Length* lengths = static_cast<Length*>(args.lengths) + begin;
  for (int64_t k = 0; k <= last; ++k, lengths += args.stride) {
    const Length before = continues ? lengths[0] : 0;
    const uint32_t* here = reached[k % 2];
    uint32_t* further = reached[(k + 1) % 2];
    if (k < last)
      ranks.At(k, ends, bags + 1, further);
    else
      for (int64_t b = 0; b <= bags; ++b) further[b] = 0;
    for (int64_t b = 0; b < bags; ++b)
      lengths[b] = static_cast<Length>(here[b + 1] - here[b] - (further[b + 1] - further[b]));
    lengths[0] += before;
  }
}

template <typename Ids, typename Index, typename Length>
bool Count(const CountEvenArgs& args) {
  Ranks<Ids> ranks;
  const int64_t end = args.at[args.end];
  int64_t bag = args.begin;
  for (int64_t first = args.at[bag]; bag < args.end; first += kBlock) {
    const int64_t n = end - first < kBlock ? end - first : kBlock;
    const Index* ids = static_cast<const Index*>(args.ids) + first;
    if (!ranks.Fill(*args.buckets, ids, n, args.all_ids - first, args.totals)) return false;
    int64_t whole = bag;  // bags up to it end here
    while (whole + 16 <= args.end && args.at[whole + 16] <= first + n) whole += 16;
    while (whole < args.end && args.at[whole + 1] <= first + n) ++whole;
    const bool goes_on = whole < args.end && args.at[whole] < first + n;
    for (const int64_t stop = whole + goes_on; bag < stop; bag += kEnds - 1) {
      const int64_t some = bag + kEnds - 1 < stop ? bag + kEnds - 1 : stop;
      CountBags<Ids, Length>(args, ranks, bag, some, first, n);
    }
    bag = whole;
  }
  return true;
}

// Deals ids out, with the next free slots at hand. kBuckets: as in VisitBuckets; kSlots: whether
// slots are wanted. Run keeps the numbers that a group of ids changes in its variables, so that
// they stay in registers.
template <typename Ids, typename Index, int kBuckets, bool kSlots>
class Dealer {
 public:
  explicit Dealer(const DealEvenArgs& args)
      : last_(args.buckets->buckets - 1),
        ids_(static_cast<const Index*>(args.ids)),
        out_(static_cast<Index*>(args.out)),
        slots_(static_cast<Index*>(args.slots)) {
    for (int64_t k = 0; k <= last_; ++k) {
      bounds_[k] = args.buckets->bounds[k];
      firsts_[k] = args.keep_ids ? 0 : static_cast<uint64_t>(k) * args.buckets->width;
      wholes_[k] = args.ends[k] - Ids::kLanes;
    }
  }
  void Run(const DealEvenArgs& args) const {
    int64_t next[kMaxEvenBuckets];
    for (int64_t k = 0; k <= last_; ++k) next[k] = args.next[k];
    int64_t i = args.begin;
    for (; i + Ids::kLanes <= args.end; i += Ids::kLanes) {
      Ask<Ids>(ids_ + i);
      DealGroup(i, Ids::Load(ids_ + i), Ids::kLanes, true, next);
    }
    const auto n = static_cast<int>(args.end - i);
    if (n > 0)
      DealGroup(i, LoadLast<Ids>(ids_, i, n, args.all_ids), n, i + Ids::kLanes <= args.slots_end,
                next);
    for (int64_t k = 0; k <= last_; ++k) args.next[k] = next[k];
  }

 private:
  // Deals n ids from i on; `whole`: slots of a whole register may be written.
  [[gnu::always_inline]] void DealGroup(int64_t i, const Ids& ids, int n, bool whole,
                                        int64_t* next) const {
    if constexpr (Ids::kCompresses)
      DealCompressed(i, ids, n, whole, next);
    else
      DealEach(i, ids, n, next);
  }
  void DealCompressed(int64_t i, const Ids& ids, int n, bool whole, int64_t* next) const;
  void DealEach(int64_t i, const Ids& ids, int n, int64_t* next) const;

  const int64_t last_;
  const Index* const ids_;
  Index *const out_, *const slots_;
  uint64_t bounds_[kMaxEvenBuckets], firsts_[kMaxEvenBuckets];
  int64_t wholes_[kMaxEvenBuckets];  // the last place at which a whole register may be written
};

template <typename Ids, typename Index, int kBuckets, bool kSlots>
[[gnu::always_inline]] inline void Dealer<Ids, Index, kBuckets, kSlots>::DealCompressed(
    int64_t i, const Ids& ids, int n, bool whole, int64_t* next) const {
  const int64_t last = kBuckets > 0 ? kBuckets - 1 : last_;
  Ids slots = ids;
  Mask left = FirstLanes(n);  // that reach bucket k
#pragma GCC unroll 8
  for (int64_t k = 0; k <= last; ++k) {
    const Mask further = k < last ? ids.AtLeast(bounds_[k]) & FirstLanes(n) : 0;
    const Mask here = left ^ further;  // bounds rise
    const int count = __builtin_popcount(here);
    const Ids dealt = ids.Compressed(here, firsts_[k]);
    if (next[k] <= wholes_[k]) [[likely]]
      dealt.Store(out_ + next[k], count);  // the next ids are written over what is too much
    else
      dealt.StoreOnly(out_ + next[k], count);
    if constexpr (kSlots) slots.Number(here, next[k]);
    next[k] += count;
    left = further;
  }
  if constexpr (kSlots) whole ? slots.Store(slots_ + i, n) : slots.StoreOnly(slots_ + i, n);
}

template <typename Ids, typename Index, int kBuckets, bool kSlots>
[[gnu::always_inline]] inline void Dealer<Ids, Index, kBuckets, kSlots>::DealEach(
    int64_t i, const Ids& ids, int n, int64_t* next) const {
  for (int lane = 0; lane < n; ++lane, ++i) {
    int64_t bucket = 0;
    for (int64_t k = 0; k < last_; ++k) bucket += ids.u[lane] >= bounds_[k];
    const int64_t slot = next[bucket]++;
    out_[slot] = static_cast<Index>(ids.u[lane] - firsts_[bucket]);
    if constexpr (kSlots) slots_[i] = static_cast<Index>(slot);
  }
}

template <typename Ids, typename Index>
void Deal(const DealEvenArgs& args) {
  VisitBuckets(*args.buckets, [&]<int kBuckets>() {
    if (args.slots == nullptr)
      Dealer<Ids, Index, kBuckets, false>(args).Run(args);
    else
      Dealer<Ids, Index, kBuckets, true>(args).Run(args);
  });
}

// Calls fn(ids, index) with the type that ids are held as, and the type that they have.
template <typename Fn>
void VisitIds(const EvenBuckets& buckets, bool wide_ids, const Fn& fn) {
  const bool narrow = buckets.bounds[buckets.buckets - 1] <= kNarrowIds;
  if (wide_ids)
    narrow ? fn(NarrowIds{}, int64_t{}) : fn(WideIds{}, int64_t{});
  else
    narrow ? fn(NarrowIds{}, int32_t{}) : fn(WideIds{}, int32_t{});
}

}  // namespace

void CountEven(const CountEvenArgs& args) {
  VisitIds(*args.buckets, args.wide_ids, [&](auto ids, auto index) {
    using Ids = decltype(ids);
    using Index = decltype(index);
    *args.complete =
        args.wide_lengths ? Count<Ids, Index, int64_t>(args) : Count<Ids, Index, int32_t>(args);
  });
}

void DealEven(const DealEvenArgs& args) {
  // Slots are held like ids.
  uint64_t slots = 0;
  for (int64_t k = 0; k < args.buckets->buckets; ++k)
    if (static_cast<uint64_t>(args.ends[k]) > slots) slots = static_cast<uint64_t>(args.ends[k]);
  VisitIds(*args.buckets, args.wide_ids, [&](auto ids, auto index) {
    if (slots <= kNarrowIds)
      Deal<decltype(ids), decltype(index)>(args);
    else
      Deal<WideIds, decltype(index)>(args);
  });
}

}  // namespace tessera::internal::TESSERA_ISA
