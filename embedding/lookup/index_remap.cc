#include "embedding/lookup/index_remap.h"

#include <algorithm>
#include <limits>

#include "embedding/lookup/feature_items.h"
#include "embedding/lookup/index_remap_impl.h"
#include "runtime/device/dispatch.h"

namespace tessera {
namespace internal {

void RemapFeatures(OnCpu on, Context& ctx, std::span<const RemappedFeature> features) {
  ForEachItem(on, ctx, features, 1 << 13, RemapId{});
}

}  // namespace internal

namespace {

constexpr int64_t kNarrow = std::numeric_limits<int32_t>::max();

void CheckRow(int64_t id, int64_t row, int64_t rows) {
  TESSERA_CHECK(IsRow(row, rows), "remap: id {} is to be row {}, but the table has {} rows", id,
                row, rows);
}

[[noreturn]] void FailOnRepeated(int64_t id) { TESSERA_FAIL("remap: id {} is listed twice", id); }

// The map with numbers of type T, made on the host, then moved.
template <typename T>
Tensor ArrayOf(Context& ctx, std::span<const RemapEntry> entries, int64_t original_rows) {
  const Tensor map = Tensor::EmptyHost({original_rows}, DTypeOf<T>::value);
  const std::span<T> rows = map.span<T>();
  std::fill(rows.begin(), rows.end(), T{-1});
  for (const RemapEntry& e : entries) {
    T& row = rows[static_cast<size_t>(e.id)];
    if (row != -1) FailOnRepeated(e.id);
    row = static_cast<T>(e.row);
  }
  return map.To(ctx, ctx.device());
}

template <typename T>
Tensor SlotsOf(Context& ctx, std::span<const RemapEntry> entries) {
  const auto n = static_cast<int64_t>(entries.size());
  const int64_t capacity = std::max<int64_t>(32, (2 * n + 31) / 32 * 32);
  const Tensor slots = Tensor::EmptyHost({capacity, 2}, DTypeOf<T>::value);
  T* data = slots.data<T>();
  std::fill(data, data + 2 * capacity, T{-1});
  for (const RemapEntry& e : entries) {
    int64_t slot = FirstSlot(e.id, capacity, sizeof(T) == 8);
    while (data[2 * slot] != -1) {
      if (data[2 * slot] == e.id) FailOnRepeated(e.id);
      slot = slot + 1 < capacity ? slot + 1 : 0;
    }
    data[2 * slot] = static_cast<T>(e.id);
    data[2 * slot + 1] = static_cast<T>(e.row);
  }
  return slots.To(ctx, ctx.device());
}

// The output tensors made so far: which one takes each feature's ids, and how far each is filled.
class Outputs {
 public:
  Tensor For(Context& ctx, const RemappedIds& feature) {
    for (Output& o : outputs_)
      if (o.end <= feature.begin && o.tensor.dtype() == feature.ids.dtype() &&
          o.tensor.numel() == feature.ids.numel()) {
        o.end = feature.end;
        return o.tensor;
      }
    outputs_.push_back({Tensor::Empty(ctx, feature.ids.shape(), feature.ids.dtype()), feature.end});
    return outputs_.back().tensor;
  }

 private:
  struct Output {
    Tensor tensor;
    int64_t end;
  };
  std::vector<Output> outputs_;
};

void CheckFeature(const Context& ctx, const RemappedIds& f) {
  CheckDevice(ctx, "index remap", f.ids, f.remap->data());
  VisitIndexType(f.ids.dtype(), "ids", []<typename>() {});
  TESSERA_CHECK(0 <= f.begin && f.begin <= f.end && f.end <= f.ids.numel(),
                "index remap: ids {} to {}, of {}", f.begin, f.end, f.ids.numel());
  TESSERA_CHECK(f.ids.dtype() == DType::kI64 || f.remap->rows() <= kNarrow,
                "index remap: {} rows are not named by ids of 32 bits", f.remap->rows());
}

}  // namespace

IndexRemap::IndexRemap(Context& ctx, RemapKind kind, std::span<const RemapEntry> entries,
                       int64_t original_rows, int64_t rows)
    : IndexRemap(kind, Tensor(), original_rows, rows) {
  TESSERA_CHECK(original_rows >= 0 && rows >= 0, "remap of {} ids to {} rows", original_rows, rows);
  for (const RemapEntry& e : entries) {
    TESSERA_CHECK(IsRow(e.id, original_rows), "remap: id {}, but there are {} ids", e.id,
                  original_rows);
    CheckRow(e.id, e.row, rows);
  }
  if (kind == RemapKind::kArray)
    data_ = rows <= kNarrow ? ArrayOf<int32_t>(ctx, entries, original_rows)
                            : ArrayOf<int64_t>(ctx, entries, original_rows);
  else
    data_ = std::max(rows, original_rows) <= kNarrow ? SlotsOf<int32_t>(ctx, entries)
                                                     : SlotsOf<int64_t>(ctx, entries);
}

IndexRemap IndexRemap::FromMap(Context& ctx, RemapKind kind, const Tensor& map, int64_t rows) {
  TESSERA_CHECK_EQ(map.rank(), 1, "remap: rank of the map");
  const Tensor host = map.Contiguous(ctx).To(ctx, Device::Cpu());
  std::vector<RemapEntry> entries;
  VisitIndexType(map.dtype(), "a map of ids", [&]<typename T>() {
    for (int64_t id = 0; id < host.numel(); ++id) {
      const int64_t row = host.data<T>()[id];
      if (row == -1) continue;
      CheckRow(id, row, rows);
      if (kind == RemapKind::kHash || sizeof(T) == 8) entries.push_back({id, row});
    }
  });
  // An array of i32 already has the stored form: it is copied.
  if (kind == RemapKind::kArray && map.dtype() == DType::kI32)
    return IndexRemap(kind, map.Clone(ctx), map.numel(), rows);
  return IndexRemap(ctx, kind, entries, map.numel(), rows);
}

RemapView IndexRemap::view() const {
  return {kind_, {data_.raw_data(), data_.dtype() == DType::kI64}, data_.dim(0)};
}

std::vector<Tensor> RemapIds(Context& ctx, std::span<const RemappedIds> features) {
  std::vector<size_t> order;  // of those with a map, by where they begin
  for (size_t f = 0; f < features.size(); ++f) {
    if (features[f].remap == nullptr) continue;
    CheckFeature(ctx, features[f]);
    order.push_back(f);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return features[a].begin < features[b].begin; });
  std::vector<Tensor> result;
  for (const RemappedIds& f : features) result.push_back(f.ids);
  Outputs outputs;
  std::vector<internal::RemappedFeature> items;
  for (const size_t f : order) {
    const RemappedIds& r = features[f];
    result[f] = outputs.For(ctx, r);
    items.push_back({r.end - r.begin,
                     {r.ids.raw_data(), r.ids.dtype() == DType::kI64},
                     result[f].raw_data(),
                     r.begin,
                     r.remap->view()});
  }
  if (items.empty()) return result;
  DispatchDevice(ctx.device(), [&](auto on) { internal::RemapFeatures(on, ctx, items); });
  return result;
}

}  // namespace tessera
