#include "sparse/dense_ids.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

// fn(const Index* ids).
template <typename Fn>
void VisitIds(const DenseIds& d, Fn fn) {
  if (d.wide)
    fn(static_cast<const int64_t*>(d.ids));
  else
    fn(static_cast<const int32_t*>(d.ids));
}

uint64_t BitOf(const DenseIds& d, int64_t id) {
  return static_cast<uint64_t>(id) - static_cast<uint64_t>(d.low);
}

template <typename Index>
void WriteValues(const DenseIds& d, Index* values) {
  const uint64_t last = BitOf(d, d.high) / 64;
  for (uint64_t w = 0; w <= last; ++w)
    for (uint64_t left = d.words[w]; left != 0; left &= left - 1)
      *values++ = static_cast<Index>(d.low + static_cast<int64_t>(64 * w) + __builtin_ctzll(left));
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
  VisitIds(d, [&]<typename Index>(const Index* ids) {
    for (int64_t i = 0; i < d.n; ++i) {
      const uint64_t bit = BitOf(d, ids[i]);
      d.words[bit / 64] |= uint64_t{1} << bit % 64;
    }
  });
  uint32_t rank = 0;
  const uint64_t last = BitOf(d, d.high) / 64;
  for (uint64_t w = 0; w <= last; ++w) {
    d.ranks[w] = rank;
    rank += static_cast<uint32_t>(__builtin_popcountll(d.words[w]));
  }
  d.distinct = rank;
}

void WriteDenseIds(const DenseIds& d, const DenseIdsOutput& out) {
  VisitIds(d, [&]<typename Index>(const Index* ids) {
    WriteValues(d, static_cast<Index*>(out.values));
    for (int64_t i = 0; i < d.n; ++i) {
      const uint64_t bit = BitOf(d, ids[i]);
      const uint64_t before = d.words[bit / 64] & ((uint64_t{1} << bit % 64) - 1);
      out.inverse[i] = out.first + d.ranks[bit / 64] + __builtin_popcountll(before);
    }
  });
  if (out.counts == nullptr) return;
  for (int64_t i = 0; i < d.n; ++i) ++out.counts[out.inverse[i] - out.first];
}

}  // namespace tessera::internal::TESSERA_ISA
