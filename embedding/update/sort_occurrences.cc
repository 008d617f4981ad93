#include "embedding/update/sort_occurrences.h"

#include <algorithm>
#include <bit>

#include "runtime/device/scratch_pool.h"

namespace tessera::internal {
namespace {

// 2,048 counters fit the first-level cache twice; small sorts take fewer.
constexpr int kMaxDigitBits = 11, kFewestDigitBits = 6;
// Below this number of ids, one thread is faster.
constexpr int64_t kParallelFrom = 1 << 17;

struct Digit {
  int shift, bits;
  size_t Of(uint64_t row) const { return row >> shift & ((uint64_t{1} << bits) - 1); }
  size_t values() const { return size_t{1} << bits; }
};

ScratchVector<Digit> Digits(int64_t n, int64_t num_rows) {
  const int bits = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(num_rows - 1, 1)));
  const int most = std::clamp(static_cast<int>(std::bit_width(static_cast<uint64_t>(n))),
                              kFewestDigitBits, kMaxDigitBits);
  const int passes = (bits + most - 1) / most;
  ScratchVector<Digit> digits;
  for (int pass = 0, shift = 0; pass < passes; ++pass) {
    const int width = (bits - shift + passes - pass - 1) / (passes - pass);
    digits.push_back({shift, width});
    shift += width;
  }
  return digits;
}

// One stable pass: part p of the input is counted and moved by one thread, after the parts before
// it within each digit.
template <typename Key>
void MovePass(Context& ctx, const Digit& digit, const Occurrence<Key>* from, Occurrence<Key>* to,
              int64_t n, int64_t parts, ScratchVector<uint32_t>& counts) {
  const size_t values = digit.values();
  counts.assign(values * static_cast<size_t>(parts), 0);
  const auto for_parts = [&](auto&& fn) {
    ParallelFor(ctx, parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        fn(counts.data() + static_cast<size_t>(p) * values, n * p / parts, n * (p + 1) / parts);
    });
  };
  for_parts([&](uint32_t* count, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++count[digit.Of(from[i].row)];
  });
  uint32_t at = 0;
  for (size_t v = 0; v < values; ++v)
    for (int64_t p = 0; p < parts; ++p)
      at += std::exchange(counts[static_cast<size_t>(p) * values + v], at);
  for_parts([&](uint32_t* next, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[next[digit.Of(from[i].row)]++] = from[i];
  });
}

}  // namespace

template <typename Key>
Occurrence<Key>* SortOccurrences(Context& ctx, Occurrence<Key>* data, Occurrence<Key>* scratch,
                                 int64_t n, int64_t num_rows) {
  if (n < 2) return data;
  const int64_t parts = n >= kParallelFrom ? ctx.threads().threads() : 1;
  ScratchVector<uint32_t> counts;
  for (const Digit& digit : Digits(n, num_rows)) {
    MovePass(ctx, digit, data, scratch, n, parts, counts);
    std::swap(data, scratch);
  }
  return data;
}

template Occurrence<uint32_t>* SortOccurrences(Context&, Occurrence<uint32_t>*,
                                               Occurrence<uint32_t>*, int64_t, int64_t);
template Occurrence<uint64_t>* SortOccurrences(Context&, Occurrence<uint64_t>*,
                                               Occurrence<uint64_t>*, int64_t, int64_t);

}  // namespace tessera::internal
