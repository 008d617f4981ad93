// Groups are found one by one, in the way that is cheapest for their size and range, with a scratch
// area of at most 32 bytes an id; then, the groups' places known, they are written.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/isa.h"
#include "runtime/device/scratch_pool.h"
#include "runtime/tensor.h"
#include "sparse/ids/dense_ids.h"
#include "sparse/ids/unique_impl.h"

namespace tessera::internal {
namespace {

constexpr int kBits = 11;
constexpr uint64_t kBuckets = uint64_t{1} << kBits;
constexpr uint64_t kSign = uint64_t{1} << 63;

// For up to so many ids, a comparing sort beats clearing a histogram.
constexpr int64_t kFew = 64;
// A thread takes at least so many ids.
constexpr int64_t kPieceIds = 1 << 13;

struct Entry {
  uint64_t key;  // the id with its sign bit turned over: ascending as the id
  int64_t at;    // in its group
};

// A stable sort, least significant digit first; digits that are the same everywhere are skipped.
// The result is in one of the two.
std::span<const Entry> RadixSort(std::span<Entry> entries, std::span<Entry> other) {
  uint64_t differing = 0;
  for (const Entry& e : entries) differing |= e.key ^ entries.front().key;
  for (int shift = 0; shift < 64; shift += kBits) {
    if ((differing >> shift & (kBuckets - 1)) == 0) continue;
    std::array<int64_t, kBuckets> next = {};
    for (const Entry& e : entries) ++next[e.key >> shift & (kBuckets - 1)];
    int64_t start = 0;
    for (int64_t& n : next) start += std::exchange(n, start);
    for (const Entry& e : entries)
      other[static_cast<size_t>(next[e.key >> shift & (kBuckets - 1)]++)] = e;
    std::swap(entries, other);
  }
  return entries;
}

std::span<const Entry> Sorted(std::span<Entry> entries, std::span<Entry> other) {
  if (static_cast<int64_t>(entries.size()) > kFew) return RadixSort(entries, other);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.key < b.key || (a.key == b.key && a.at < b.at);
  });
  return entries;
}

// One group between the two passes: as bits, or sorted.
template <typename T>
class Group {
 public:
  void Find(IsaLevel isa, const T* ids, int64_t n) {
    if (n == 0) return;
    isa_ = isa;
    dense_ = {ids, n, sizeof(T) == 8, 0, 0, nullptr, nullptr, 0};
    if (n > kFew) {
      TESSERA_CALL_ISA(isa, FindRange, dense_);
      const uint64_t words =
          (static_cast<uint64_t>(dense_.high) - static_cast<uint64_t>(dense_.low)) / 64 + 1;
      if (words <= 2 * static_cast<uint64_t>(n)) return FindDense(words);
    }
    const auto count = static_cast<size_t>(n);
    auto* entries = static_cast<Entry*>(HoldScratch(2 * count * sizeof(Entry)));
    for (int64_t i = 0; i < n; ++i)
      entries[i] = {static_cast<uint64_t>(static_cast<int64_t>(ids[i])) ^ kSign, i};
    sorted_ = Sorted({entries, count}, {entries + n, count});
    dense_.distinct = 1;
    for (size_t i = 1; i < count; ++i) dense_.distinct += sorted_[i].key != sorted_[i - 1].key;
  }
  int64_t distinct() const { return dense_.distinct; }

  // Writes values and counts (or null) from the group's first distinct id on, which has the number
  // `first`.
  void Write(int64_t first, T* values, int64_t* counts, int64_t* inverse) const {
    if (dense_.n == 0) return;
    if (counts != nullptr) std::fill_n(counts, distinct(), 0);
    if (sorted_.empty()) {
      const DenseIdsOutput out{first, values, inverse, counts};
      TESSERA_CALL_ISA(isa_, WriteDenseIds, dense_, out);
      return;
    }
    int64_t u = -1;
    for (size_t i = 0; i < sorted_.size(); ++i) {
      const Entry& e = sorted_[i];
      if (i == 0 || e.key != sorted_[i - 1].key)
        values[++u] = static_cast<T>(static_cast<int64_t>(e.key ^ kSign));
      if (counts != nullptr) ++counts[u];
      inverse[e.at] = first + u;
    }
  }

 private:
  void FindDense(uint64_t words) {
    dense_.words = static_cast<uint64_t*>(HoldScratch(12 * words));
    dense_.ranks = reinterpret_cast<uint32_t*>(dense_.words + words);
    std::fill_n(dense_.words, words, 0);
    TESSERA_CALL_ISA(isa_, MarkDenseIds, dense_);
  }

  struct Give {
    size_t bytes;
    void operator()(void* block) const { GiveScratch(block, bytes); }
  };
  void* HoldScratch(size_t bytes) {
    scratch_ = {TakeScratch(bytes), Give{bytes}};
    return scratch_.get();
  }

  std::unique_ptr<void, Give> scratch_;  // the bits, or the entries twice
  DenseIds dense_{};
  std::span<const Entry> sorted_;
  IsaLevel isa_ = IsaLevel::kBaseline;
};

template <typename T>
UniqueIds UniqueOfType(Context& ctx, const Tensor& ids, std::span<const int64_t> at, bool counts) {
  const auto groups = static_cast<int64_t>(at.size()) - 1;
  const int64_t n = ids.dim(0), grain = n == 0 ? groups : kPieceIds * groups / n;
  const IsaLevel isa = ChosenIsa();
  std::vector<Group<T>> found(static_cast<size_t>(groups));
  std::vector<int64_t> firsts(static_cast<size_t>(groups) + 1);
  ParallelFor(ctx, groups, grain, [&](int64_t begin, int64_t end) {
    for (auto g = static_cast<size_t>(begin); g < static_cast<size_t>(end); ++g) {
      found[g].Find(isa, ids.data<T>() + at[g], at[g + 1] - at[g]);
      firsts[g + 1] = found[g].distinct();
    }
  });
  std::partial_sum(firsts.begin(), firsts.end(), firsts.begin());
  const int64_t distinct = firsts.back();
  UniqueIds result{Tensor::Empty(ctx, {distinct}, ids.dtype()), Tensor::From(ctx, firsts),
                   Tensor::Empty(ctx, {n}, DType::kI64),
                   counts ? Tensor::Empty(ctx, {distinct}, DType::kI64) : Tensor()};
  ParallelFor(ctx, groups, grain, [&](int64_t begin, int64_t end) {
    for (auto g = static_cast<size_t>(begin); g < static_cast<size_t>(end); ++g)
      found[g].Write(firsts[g], result.values.data<T>() + firsts[g],
                     counts ? result.counts.data<int64_t>() + firsts[g] : nullptr,
                     result.inverse.data<int64_t>() + at[g]);
  });
  return result;
}

}  // namespace

UniqueIds UniqueOf(OnCpu, Context& ctx, const Tensor& ids, std::span<const int64_t> group_offsets,
                   bool counts) {
  return VisitIndexType(ids.dtype(), "unique: ids", [&]<typename T>() {
    return UniqueOfType<T>(ctx, ids, group_offsets, counts);
  });
}

}  // namespace tessera::internal
