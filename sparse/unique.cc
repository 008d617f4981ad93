#include "sparse/unique.h"

#include <array>
#include <utility>
#include <vector>

#include "runtime/dispatch.h"
#include "sparse/segments.h"
#include "sparse/unique_impl.h"

namespace tessera {
namespace internal {
namespace {

constexpr int kBits = 11;
constexpr uint64_t kBuckets = uint64_t{1} << kBits;

struct Entry {
  uint64_t key;  // the id with its sign bit turned over: ascending as the id
  int64_t at;
};

// Stable, least significant digit first; digits that are the same everywhere are skipped.
void RadixSort(std::vector<Entry>* entries) {
  if (entries->empty()) return;
  uint64_t differing = 0;
  for (const Entry& e : *entries) differing |= e.key ^ entries->front().key;
  std::vector<Entry> other(entries->size());
  for (int shift = 0; shift < 64; shift += kBits) {
    if ((differing >> shift & (kBuckets - 1)) == 0) continue;
    std::array<int64_t, kBuckets> next = {};
    for (const Entry& e : *entries) ++next[e.key >> shift & (kBuckets - 1)];
    int64_t start = 0;
    for (int64_t& n : next) start += std::exchange(n, start);
    for (const Entry& e : *entries)
      other[static_cast<size_t>(next[e.key >> shift & (kBuckets - 1)]++)] = e;
    entries->swap(other);
  }
}

struct Group {
  std::vector<Entry> sorted;
  std::vector<int64_t> firsts;  // where each distinct id begins in sorted
};

template <typename T>
Group SortGroup(const T* ids, int64_t begin, int64_t end) {
  Group group;
  group.sorted.reserve(static_cast<size_t>(end - begin));
  for (int64_t i = begin; i < end; ++i)
    group.sorted.push_back(
        {static_cast<uint64_t>(static_cast<int64_t>(ids[i])) ^ uint64_t{1} << 63, i});
  RadixSort(&group.sorted);
  for (size_t i = 0; i < group.sorted.size(); ++i)
    if (i == 0 || group.sorted[i].key != group.sorted[i - 1].key)
      group.firsts.push_back(static_cast<int64_t>(i));
  return group;
}

template <typename T>
void WriteGroup(const Group& group, int64_t first, const UniqueIds& out) {
  T* values = out.values.data<T>();
  int64_t *counts = out.counts.data<int64_t>(), *inverse = out.inverse.data<int64_t>();
  for (size_t u = 0; u < group.firsts.size(); ++u) {
    const auto begin = static_cast<size_t>(group.firsts[u]);
    const size_t end = u + 1 < group.firsts.size() ? static_cast<size_t>(group.firsts[u + 1])
                                                   : group.sorted.size();
    const int64_t slot = first + static_cast<int64_t>(u);
    values[slot] =
        static_cast<T>(static_cast<int64_t>(group.sorted[begin].key ^ uint64_t{1} << 63));
    counts[slot] = static_cast<int64_t>(end - begin);
    for (size_t i = begin; i < end; ++i) inverse[group.sorted[i].at] = slot;
  }
}

template <typename T>
UniqueIds UniqueOfType(Context& ctx, const Tensor& ids, std::span<const int64_t> at) {
  const auto groups = static_cast<int64_t>(at.size()) - 1;
  std::vector<Group> sorted(static_cast<size_t>(groups));
  std::vector<int64_t> sizes(static_cast<size_t>(groups));
  ParallelFor(ctx, groups, 1, [&](int64_t begin, int64_t end) {
    for (auto g = static_cast<size_t>(begin); g < static_cast<size_t>(end); ++g) {
      sorted[g] = SortGroup(ids.data<T>(), at[g], at[g + 1]);
      sizes[g] = static_cast<int64_t>(sorted[g].firsts.size());
    }
  });
  const std::vector<int64_t> firsts = HostOffsets(sizes);
  UniqueIds result{Tensor::Empty(ctx, {firsts.back()}, ids.dtype()), Tensor::From(ctx, firsts),
                   Tensor::Empty(ctx, {ids.dim(0)}, DType::kI64),
                   Tensor::Empty(ctx, {firsts.back()}, DType::kI64)};
  ParallelFor(ctx, groups, 1, [&](int64_t begin, int64_t end) {
    for (auto g = static_cast<size_t>(begin); g < static_cast<size_t>(end); ++g)
      WriteGroup<T>(sorted[g], firsts[g], result);
  });
  return result;
}

}  // namespace

UniqueIds UniqueOf(OnCpu, Context& ctx, const Tensor& ids, std::span<const int64_t> group_offsets) {
  return VisitIndexType(ids.dtype(), "unique: ids",
                        [&]<typename T>() { return UniqueOfType<T>(ctx, ids, group_offsets); });
}

}  // namespace internal

UniqueIds UniquePerGroup(Context& ctx, const Tensor& ids, std::span<const int64_t> group_offsets) {
  CheckDevice(ctx, "unique", ids);
  TESSERA_CHECK_EQ(ids.rank(), 1, "unique: ids {}", ids.shape());
  TESSERA_CHECK(!group_offsets.empty() && group_offsets.front() == 0,
                "unique: group offsets start at 0");
  for (size_t g = 0; g + 1 < group_offsets.size(); ++g)
    TESSERA_CHECK_LE(group_offsets[g], group_offsets[g + 1], "unique: group offsets fall at {}", g);
  TESSERA_CHECK_EQ(group_offsets.back(), ids.dim(0), "unique: the last group offset, and ids");
  const Tensor in = ids.Contiguous(ctx);
  VisitIndexType(in.dtype(), "unique: ids", []<typename T>() {});
  return DispatchDevice(ctx.device(),
                        [&](auto on) { return internal::UniqueOf(on, ctx, in, group_offsets); });
}

UniqueIds Unique(Context& ctx, const Tensor& ids) {
  const int64_t all[] = {0, ids.numel()};
  return UniquePerGroup(ctx, ids, all);
}

}  // namespace tessera
