#include "embedding/table_occurrences.h"

#include <algorithm>
#include <limits>

#include "embedding/sort_occurrences.h"

namespace tessera::internal {
namespace {

int64_t IdsOf(const LookupArgs& lookup, const LookupFeature& f) {
  return lookup.offsets[f.first_bag + f.num_bags] - lookup.offsets[f.first_bag];
}

// Numbers the slots of a table: the bags of its features one after another; under NONE, their ids.
struct SlotWriter {
  const LookupArgs& lookup;
  const float* base;
  int64_t* offsets;
  float* scales;  // null if no feature is MEAN

  // Writes the slots of feature f from number `first` on; returns how many.
  int64_t Write(const LookupFeature& f, int64_t first) const {
    const int64_t count = f.pooling == PoolingType::kNone ? IdsOf(lookup, f) : f.num_bags;
    for (int64_t s = 0; s < count; ++s) offsets[first + s] = f.OutputAt<float>(s) - base;
    if (scales == nullptr) return count;
    for (int64_t s = 0; s < count; ++s)
      scales[first + s] =
          f.pooling == PoolingType::kMean
              ? MeanScale(lookup.offsets[f.first_bag + s + 1] - lookup.offsets[f.first_bag + s])
              : 1.0f;
    return count;
  }
};

}  // namespace

template <typename Fn>
decltype(auto) TableOccurrences::Visit(Fn&& fn) const {
  if (wide_) return fn(static_cast<Occurrence<uint64_t>*>(sorted_));
  return fn(static_cast<Occurrence<uint32_t>*>(sorted_));
}

TableOccurrences::TableOccurrences(Context& ctx, const LookupArgs& lookup, const UpdateTable& table)
    : wide_(table.num_rows > int64_t{1} << 32) {
  if (wide_)
    Collect<uint64_t>(ctx, lookup, table);
  else
    Collect<uint32_t>(ctx, lookup, table);
}

template <typename Key>
void TableOccurrences::Collect(Context& ctx, const LookupArgs& lookup, const UpdateTable& table) {
  int64_t ids = 0, slots = 0;
  bool any_mean = false;
  for (const int index : table.features) {
    const LookupFeature& f = lookup.features[static_cast<size_t>(index)];
    ids += IdsOf(lookup, f);
    slots += f.pooling == PoolingType::kNone ? IdsOf(lookup, f) : f.num_bags;
    any_mean |= f.pooling == PoolingType::kMean;
  }
  TESSERA_CHECK(std::max(ids, slots) <= std::numeric_limits<int32_t>::max(),
                "update: {} ids for one table in one step; at most 2^31 − 1", std::max(ids, slots));
  if (ids == 0) return;

  const bool weighted = lookup.weights != nullptr;
  grad_ = lookup.features[static_cast<size_t>(table.features[0])].OutputAt<float>(0);
  slot_offsets_ = Tensor::Empty(ctx, {slots}, DType::kI64);
  if (any_mean) slot_scales_ = Tensor::Empty(ctx, {slots});
  if (weighted) {
    slots_ = Tensor::Empty(ctx, {ids}, DType::kI32);
    sample_weights_ = Tensor::Empty(ctx, {ids});
  }
  for (Tensor& buffer : buffers_)
    buffer = Tensor::Empty(ctx, {ids * static_cast<int64_t>(sizeof(Occurrence<Key>))}, DType::kU8);
  auto* occurrences = static_cast<Occurrence<Key>*>(buffers_[0].raw_data());

  const SlotWriter writer{lookup, grad_, slot_offsets_.data<int64_t>(),
                          any_mean ? slot_scales_.data<float>() : nullptr};
  int32_t* slot_of = weighted ? slots_.data<int32_t>() : nullptr;
  float* weight_of = weighted ? sample_weights_.data<float>() : nullptr;
  int64_t first_slot = 0, n = 0;
  for (const int index : table.features) {
    const LookupFeature& f = lookup.features[static_cast<size_t>(index)];
    const bool slot_an_id = f.pooling == PoolingType::kNone;
    int64_t slot = first_slot;
    for (int64_t b = 0; b < f.num_bags; ++b, slot += slot_an_id ? 0 : 1) {
      const int64_t end = lookup.offsets[f.first_bag + b + 1];
      for (int64_t i = lookup.offsets[f.first_bag + b]; i < end; ++i, slot += slot_an_id ? 1 : 0) {
        const int64_t id = f.ids[i];
        if (!IsRow(id, table.num_rows)) continue;
        if (weighted) {
          slot_of[n] = static_cast<int32_t>(slot);
          weight_of[n] = lookup.weights[i];
        }
        occurrences[n] = {static_cast<Key>(id), static_cast<uint32_t>(weighted ? n : slot)};
        ++n;
      }
    }
    first_slot += writer.Write(f, first_slot);
  }
  size_ = n;
  sorted_ = SortOccurrences(ctx, occurrences, static_cast<Occurrence<Key>*>(buffers_[1].raw_data()),
                            n, table.num_rows);
}

int64_t TableOccurrences::row(int64_t i) const {
  return Visit([&](const auto* o) { return static_cast<int64_t>(o[i].row); });
}

RowUpdateArgs TableOccurrences::Args(int64_t begin, int64_t end) const {
  RowUpdateArgs args;
  args.occurrences = sorted_;
  args.wide_rows = wide_;
  args.begin = begin;
  args.end = end;
  if (size_ == 0) return args;
  args.grad = grad_;
  args.slot_offsets = slot_offsets_.data<int64_t>();
  if (slot_scales_) args.slot_scales = slot_scales_.data<float>();
  if (slots_) {
    args.slots = slots_.data<int32_t>();
    args.sample_weights = sample_weights_.data<float>();
  }
  return args;
}

int64_t TableOccurrences::RunStartAt(int64_t i) const {
  if (i <= 0) return 0;
  if (i >= size_) return size_;
  return Visit([&](const auto* o) {
    if (o[i].row != o[i - 1].row) return i;
    const auto row = o[i].row;
    return static_cast<int64_t>(
        std::partition_point(o + i, o + size_, [&](const auto& x) { return x.row == row; }) - o);
  });
}

std::vector<int64_t> TableOccurrences::CompactRows() {
  std::vector<int64_t> rows;
  if (size_ == 0) return rows;
  Visit([&](auto* o) {
    using Key = decltype(o->row);
    for (int64_t i = 0; i < size_; ++i) {
      const int64_t row = static_cast<int64_t>(o[i].row);
      if (rows.empty() || rows.back() != row) rows.push_back(row);
      o[i].row = static_cast<Key>(rows.size() - 1);
    }
  });
  return rows;
}

}  // namespace tessera::internal
