// Ids are sorted, by group and then by value: two stable sorts, by value first. Where a neighbour
// differs, a distinct id begins; the number of beginnings so far is its place.
#include <bit>

#include "runtime/algorithms.h"
#include "runtime/launch.cuh"
#include "runtime/tensor.h"
#include "sparse/ids/unique_impl.h"
#include "sparse/ops/search.h"

namespace tessera::internal {
namespace {

// Keys ascend as the ids do: the sign bit is turned over.
template <typename T>
struct KeyOf {
  using Key = std::make_unsigned_t<T>;
  static constexpr Key kSign = Key{1} << (8 * sizeof(T) - 1);
  TESSERA_HD static Key Of(T id) { return static_cast<Key>(id) ^ kSign; }
};

template <typename T>
struct MakeKey {
  const T* ids;
  typename KeyOf<T>::Key* keys;
  uint32_t* places;
  TESSERA_HD void operator()(int64_t i) const {
    keys[i] = KeyOf<T>::Of(ids[i]);
    places[i] = static_cast<uint32_t>(i);
  }
};

struct MakeGroupKey {
  const int64_t* group_offsets;
  int64_t groups;
  const uint32_t* places;
  uint32_t *keys, *moved;
  TESSERA_HD void operator()(int64_t i) const {
    keys[i] = static_cast<uint32_t>(SegmentOf(group_offsets, 0, groups - 1, places[i]));
    moved[i] = places[i];
  }
};

// Marks the places at which a distinct id begins by 1. In the sorted order too, group g's ids are
// at group_offsets[g] ….
template <typename T>
struct MarkBeginning {
  const T* ids;
  const uint32_t* places;
  const int64_t* group_offsets;
  int64_t groups;
  int64_t* marks;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t group = SegmentOf(group_offsets, 0, groups - 1, i);
    marks[i] = i == group_offsets[group] || ids[places[i]] != ids[places[i - 1]];
  }
};

// Writes the distinct ids. `before` [n+1]: beginnings before a place. starts [U+1].
template <typename T>
struct WriteDistinct {
  const T* ids;
  const uint32_t* places;
  const int64_t* before;
  int64_t n;
  T* values;
  int64_t *starts, *inverse;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t slot = before[i + 1] - 1;
    inverse[places[i]] = slot;
    if (before[i] <= slot) {
      values[slot] = ids[places[i]];
      starts[slot] = i;
    }
    if (i + 1 == n) starts[slot + 1] = n;
  }
};

struct PlaceGroup {
  const int64_t *group_offsets, *before;
  int64_t* out;
  TESSERA_HD void operator()(int64_t g) const { out[g] = before[group_offsets[g]]; }
};

struct CountOf {
  const int64_t* starts;
  int64_t* counts;
  TESSERA_HD void operator()(int64_t u) const { counts[u] = starts[u + 1] - starts[u]; }
};

Tensor Words(Context& ctx, int64_t n, size_t bytes) {
  return Tensor::Empty(ctx, {n}, bytes == 8 ? DType::kI64 : DType::kI32);
}

// Places of the ids in ascending order, group by group; in one of the two halves of `places` [2,
// n].
template <typename T>
const uint32_t* SortedPlaces(Context& ctx, const Tensor& ids, const Tensor& group_offsets,
                             const Tensor& places) {
  using Key = typename KeyOf<T>::Key;
  const int64_t n = ids.dim(0), groups = group_offsets.dim(0) - 1;
  auto* place = static_cast<uint32_t*>(places.raw_data());
  const Tensor keys = Words(ctx, 2 * n, sizeof(Key));
  auto* key = static_cast<Key*>(keys.raw_data());
  ForEach(ctx, n, MakeKey<T>{ids.data<T>(), key, place});
  const uint32_t* sorted =
      SortPairs(ctx, key, key + n, place, place + n, n, 8 * sizeof(Key)).values;
  if (groups <= 1) return sorted;
  auto* group = static_cast<uint32_t*>(keys.raw_data());
  uint32_t* moved = sorted == place ? place + n : place;
  ForEach(ctx, n, MakeGroupKey{group_offsets.data<int64_t>(), groups, sorted, group, moved});
  return SortPairs(ctx, group, group + n, moved, const_cast<uint32_t*>(sorted), n,
                   std::bit_width(static_cast<uint64_t>(groups)))
      .values;
}

template <typename T>
UniqueIds UniqueOfType(Context& ctx, const Tensor& ids, const Tensor& group_offsets, bool counts) {
  const int64_t n = ids.dim(0), groups = group_offsets.dim(0) - 1;
  const int64_t* at = group_offsets.data<int64_t>();
  const Tensor places = Words(ctx, 2 * n, sizeof(uint32_t));
  const uint32_t* sorted = SortedPlaces<T>(ctx, ids, group_offsets, places);
  const Tensor before = Tensor::Zeros(ctx, {n + 1}, DType::kI64);
  int64_t* marks = before.data<int64_t>() + 1;
  ForEach(ctx, n, MarkBeginning<T>{ids.data<T>(), sorted, at, groups, marks});
  InclusiveSum(ctx, marks, marks, n);
  const int64_t distinct = ReadScalarSync(ctx, before.data<int64_t>() + n);
  UniqueIds result{Tensor::Empty(ctx, {distinct}, ids.dtype()),
                   Tensor::Empty(ctx, {groups + 1}, DType::kI64),
                   Tensor::Empty(ctx, {n}, DType::kI64),
                   counts ? Tensor::Empty(ctx, {distinct}, DType::kI64) : Tensor()};
  const Tensor starts = Tensor::Empty(ctx, {distinct + 1}, DType::kI64);
  ForEach(
      ctx, n,
      WriteDistinct<T>{ids.data<T>(), sorted, before.data<int64_t>(), n, result.values.data<T>(),
                       starts.data<int64_t>(), result.inverse.data<int64_t>()});
  ForEach(ctx, groups + 1,
          PlaceGroup{at, before.data<int64_t>(), result.group_offsets.data<int64_t>()});
  if (counts)
    ForEach(ctx, distinct, CountOf{starts.data<int64_t>(), result.counts.data<int64_t>()});
  return result;
}

}  // namespace

UniqueIds UniqueOf(OnCuda, Context& ctx, const Tensor& ids, std::span<const int64_t> group_offsets,
                   bool counts) {
  TESSERA_CHECK(ids.dim(0) < int64_t{1} << 32, "unique: {} ids: a device numbers them with 32 bits",
                ids.dim(0));
  const Tensor at =
      Tensor::From(ctx, std::vector<int64_t>(group_offsets.begin(), group_offsets.end()));
  return VisitIndexType(ids.dtype(), "unique: ids",
                        [&]<typename T>() { return UniqueOfType<T>(ctx, ids, at, counts); });
}

}  // namespace tessera::internal
