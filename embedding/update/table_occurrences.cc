#include "embedding/update/table_occurrences.h"

#include <algorithm>
#include <limits>

#include "embedding/update/sort_occurrences.h"

namespace tessera::internal {
namespace {

int64_t IdsOf(const LookupArgs& lookup, const LookupFeature& f) {
  return lookup.offsets[f.first_bag + f.num_bags] - lookup.offsets[f.first_bag];
}
int64_t SlotsOf(const LookupArgs& lookup, const LookupFeature& f) {
  return f.pooling == PoolingType::kNone ? IdsOf(lookup, f) : f.num_bags;
}
const LookupFeature& FeatureOf(const LookupArgs& lookup, int index) {
  return lookup.features[static_cast<size_t>(index)];
}

// Numbers the slots of a table: the bags of its features one after another; under NONE, their ids.
struct SlotWriter {
  const LookupArgs& lookup;
  const LookupFeature& base;  // whose gradient's first element is number 0
  int64_t* offsets;           // null if they follow from the slot's number
  float* scales;              // null if no feature is MEAN

  // Writes the slots of feature f from number `first` on; returns how many.
  int64_t Write(const LookupFeature& f, int64_t first) const {
    const int64_t count = SlotsOf(lookup, f);
    const int64_t bytes = static_cast<char*>(f.output) - static_cast<char*>(base.output);
    for (int64_t s = 0; offsets != nullptr && s < count; ++s)
      offsets[first + s] = bytes / SizeOf(f.output_type) + s * f.output_stride;
    if (scales == nullptr) return count;
    for (int64_t s = 0; s < count; ++s)
      scales[first + s] =
          f.pooling == PoolingType::kMean
              ? MeanScale(lookup.offsets[f.first_bag + s + 1] - lookup.offsets[f.first_bag + s])
              : 1.0f;
    return count;
  }
};

// Lists the ids of features one after another that name rows. weights: null, or of the KJT.
template <typename Key>
struct Collector {
  const LookupArgs& lookup;
  int64_t num_rows;
  Occurrence<Key>* occurrences;
  int32_t* slot_of;  // null without weights
  float* weight_of;
  int64_t size = 0;

  template <typename Id>
  void Add(const LookupFeature& f, int64_t slot) {
    Collector c = *this;  // in registers
    const Id* ids = static_cast<const Id*>(f.ids.data);
    const int64_t slot_a_bag = f.pooling == PoolingType::kNone ? 0 : 1;
    int64_t begin = c.lookup.offsets[f.first_bag];
    for (int64_t b = 0; b < f.num_bags; ++b, slot += slot_a_bag) {
      const int64_t end = c.lookup.offsets[f.first_bag + b + 1];
      for (int64_t i = begin; i < end; ++i, slot += 1 - slot_a_bag) c.AddId(ids[i], i, slot);
      begin = end;
    }
    size = c.size;
  }
  // Adds an id. If it names no row, the next one takes its place.
  void AddId(int64_t id, int64_t i, int64_t slot) {
    occurrences[size] = {static_cast<Key>(id), static_cast<uint32_t>(slot)};
    if (slot_of != nullptr) {
      occurrences[size].payload = static_cast<uint32_t>(size);
      slot_of[size] = static_cast<int32_t>(slot);
      weight_of[size] = lookup.weights[i];
    }
    size += IsRow(id, num_rows) ? 1 : 0;
  }
};

}  // namespace

int64_t CountIds(const LookupArgs& lookup, const UpdateTable& table) {
  int64_t ids = 0;
  for (const int index : table.features) ids += IdsOf(lookup, FeatureOf(lookup, index));
  return ids;
}

void* OccurrenceBuffers::Bytes(Context& ctx, Use use, int64_t bytes) {
  Tensor& tensor = tensors_[use];
  if (!tensor || tensor.numel() < bytes) tensor = Tensor::Empty(ctx, {bytes}, DType::kU8);
  return tensor.raw_data();
}

template <typename Fn>
decltype(auto) TableOccurrences::Visit(Fn&& fn) const {
  if (wide_) return fn(static_cast<Occurrence<uint64_t>*>(sorted_));
  return fn(static_cast<Occurrence<uint32_t>*>(sorted_));
}

TableOccurrences::TableOccurrences(Context& ctx, const LookupArgs& lookup, const UpdateTable& table,
                                   OccurrenceBuffers& buffers)
    : wide_(table.num_rows > int64_t{1} << 32) {
  if (wide_)
    Collect<uint64_t>(ctx, lookup, table, buffers);
  else
    Collect<uint32_t>(ctx, lookup, table, buffers);
}

template <typename Key>
void TableOccurrences::Collect(Context& ctx, const LookupArgs& lookup, const UpdateTable& table,
                               OccurrenceBuffers& buffers) {
  const int64_t ids = CountIds(lookup, table);
  args_.wide_rows = wide_;
  if (ids == 0) return;
  PlaceSlots(ctx, lookup, table, buffers);
  using Use = OccurrenceBuffers::Use;
  auto* occurrences = buffers.Room<Occurrence<Key>>(ctx, Use::kOccurrences, ids);
  auto* scratch = buffers.Room<Occurrence<Key>>(ctx, Use::kScratch, ids);
  Collector<Key> collector{lookup, table.num_rows, occurrences, nullptr, nullptr};
  if (lookup.weights != nullptr) {
    args_.slots = collector.slot_of = buffers.Room<int32_t>(ctx, Use::kSlots, ids);
    args_.sample_weights = collector.weight_of = buffers.Room<float>(ctx, Use::kWeights, ids);
  }
  int64_t slot = 0;
  for (const int index : table.features) {
    const LookupFeature& f = FeatureOf(lookup, index);
    f.ids.wide ? collector.template Add<int64_t>(f, slot)
               : collector.template Add<int32_t>(f, slot);
    slot += SlotsOf(lookup, f);
  }
  size_ = collector.size;
  sorted_ = SortOccurrences(ctx, occurrences, scratch, size_, table.num_rows);
  args_.occurrences = sorted_;
}

void TableOccurrences::PlaceSlots(Context& ctx, const LookupArgs& lookup, const UpdateTable& table,
                                  OccurrenceBuffers& buffers) {
  int64_t slots = 0;
  bool any_mean = false;
  for (const int index : table.features) {
    const LookupFeature& f = FeatureOf(lookup, index);
    slots += SlotsOf(lookup, f);
    any_mean |= f.pooling == PoolingType::kMean;
  }
  const int64_t most = std::max(slots, CountIds(lookup, table));
  TESSERA_CHECK(most <= std::numeric_limits<int32_t>::max(),
                "update: {} ids for one table in one step; at most 2^31 − 1", most);
  const LookupFeature& first = FeatureOf(lookup, table.features[0]);
  args_.grad = first.output;
  args_.grad_type = first.output_type;
  SlotWriter writer{lookup, first, nullptr, nullptr};
  using Use = OccurrenceBuffers::Use;
  if (table.features.size() == 1)
    args_.slot_stride = first.output_stride;
  else
    args_.slot_offsets = writer.offsets = buffers.Room<int64_t>(ctx, Use::kSlotOffsets, slots);
  if (any_mean)
    args_.slot_scales = writer.scales = buffers.Room<float>(ctx, Use::kSlotScales, slots);
  int64_t slot = 0;
  for (const int index : table.features) slot += writer.Write(FeatureOf(lookup, index), slot);
}

int64_t TableOccurrences::row(int64_t i) const {
  return Visit([&](const auto* o) { return static_cast<int64_t>(o[i].row); });
}

RowUpdateArgs TableOccurrences::Args(int64_t begin, int64_t end) const {
  RowUpdateArgs args = args_;
  args.begin = begin;
  args.end = end;
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
