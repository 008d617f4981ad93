#include "serve/raw_id_map.h"

#include <algorithm>

namespace tessera::serve {
namespace {

constexpr int64_t kLeastSlots = 32;

Tensor NobodysSlots(int64_t slots) {
  Context ctx({.threads = 1});
  return Tensor::Full(ctx, {slots, 2}, -1, DType::kI64);
}

}  // namespace

int64_t RawIdMap::SlotsFor(int64_t ids) {
  return std::max(kLeastSlots, (2 * ids + kLeastSlots - 1) / kLeastSlots * kLeastSlots);
}

RawIdMap::RawIdMap(int64_t ids) : slots_(NobodysSlots(SlotsFor(ids))) {}

RawIdMap::RawIdMap(const Tensor& slots, int64_t rows, const std::string& where) : slots_(slots) {
  const auto* data = slots.data<int64_t>();
  for (int64_t i = 0; i < slots.dim(0); ++i) {
    const int64_t row = data[2 * i + 1];
    if (row < -1 || row >= rows)
      throw Error(Format("{}: row {} of id {}: the table has {}", where, row, data[2 * i], rows));
    used_ += row >= 0 ? 1 : 0;
  }
  if (used_ >= slots.dim(0)) throw Error(Format("{}: no slot is free", where));
}

std::vector<RemapEntry> RawIdMap::Entries() const {
  std::vector<RemapEntry> entries;
  const auto* data = slots_.data<int64_t>();
  for (int64_t i = 0; i < slots_.dim(0); ++i)
    if (data[2 * i + 1] >= 0) entries.push_back({data[2 * i], data[2 * i + 1]});
  std::sort(entries.begin(), entries.end(),
            [](const RemapEntry& a, const RemapEntry& b) { return a.id < b.id; });
  return entries;
}

uint64_t RawIdView::SlotOf(int64_t id) const {
  uint64_t slot = FirstSlot(id);
  for (uint64_t left = size; left > 0; --left, slot = (slot + 1) % size)
    if (slots[2 * slot] == id || slots[2 * slot + 1] < 0) break;
  return slot;
}

void RawIdMap::Set(int64_t id, int64_t row) {
  auto* data = slots_.data<int64_t>();
  const uint64_t slot = view().SlotOf(id);
  const bool is_new = data[2 * slot + 1] < 0;
  data[2 * slot] = id;
  data[2 * slot + 1] = row;
  if (!is_new) return;
  ++used_;
  if (4 * used_ > 3 * slots_.dim(0)) Grow();
}

void RawIdMap::Remove(int64_t id) {
  const RawIdView at = view();
  auto* data = slots_.data<int64_t>();
  uint64_t hole = at.SlotOf(id);
  if (data[2 * hole + 1] < 0) return;
  --used_;
  uint64_t slot = (hole + 1) % at.size;
  for (uint64_t left = at.size; left > 0 && data[2 * slot + 1] >= 0;
       --left, slot = (slot + 1) % at.size) {
    // The id at `slot` may move to the hole, unless that lies before the id's first slot.
    const uint64_t way = (slot + at.size - at.FirstSlot(data[2 * slot])) % at.size;
    if (way < (slot + at.size - hole) % at.size) continue;
    std::copy_n(data + 2 * slot, 2, data + 2 * hole);
    hole = slot;
  }
  data[2 * hole] = data[2 * hole + 1] = -1;
}

void RawIdMap::Grow() {
  const Tensor before = slots_;
  slots_ = NobodysSlots(2 * before.dim(0));
  used_ = 0;
  const auto* data = before.data<int64_t>();
  for (int64_t i = 0; i < before.dim(0); ++i)
    if (data[2 * i + 1] >= 0) Set(data[2 * i], data[2 * i + 1]);
}

}  // namespace tessera::serve
