// Multi-probe hashing on a CPU: threads look ids up, one gives slots to those that have none.
#include <algorithm>
#include <vector>

#include "embedding/managed_collision/zch_forward.h"
#include "runtime/base/isa.h"
#include "runtime/base/parallel.h"

namespace tessera::internal {
namespace {

void FindSlots(IsaLevel level, const ZchSlots& slots, IndexArray ids, int64_t begin, int64_t end,
               int64_t* found) {
  TESSERA_CALL_ISA(level, FindSlots, slots, ids, begin, end, found);
}

// Reads the rows of all ids; missed(i) is called for those without one.
template <typename Fn>
void FindAll(Context& ctx, const ZchTable& table, const ZchFeature& f, const Fn& missed) {
  const IsaLevel level = ChosenIsa();
  ParallelFor(ctx, f.count, 4096, [&](int64_t begin, int64_t end) {
    FindSlots(level, table.slots, f.ids, begin, end, f.rows);
    for (int64_t i = begin; i < end; ++i)
      if (f.rows[i] < 0) missed(i);
  });
}

void Renew(const ZchTable& table, int64_t slot, int32_t until) {
  if (table.times != nullptr) table.times[slot] = std::max(table.times[slot], until);
}

// The slot that `id` has from now on, or already (of an earlier occurrence), or −1.
int64_t Insert(const ZchTable& table, const ZchPlace& place, int64_t id, bool opts_in,
               std::vector<int64_t>* changed) {
  if (id == kEmptySlot) return -1;
  const int64_t own = table.slots.Find(place, id);
  if (own >= 0 || !opts_in) return own;
  const uint64_t choice = table.NextChoice(place, 0);
  if (choice == ZchTable::kUnavailable) return -1;
  const int64_t slot = table.slots.Slot(place, ZchTable::ProbeOf(choice));
  if (table.identities[slot] != kEmptySlot) changed->push_back(slot);
  table.identities[slot] = id;
  return slot;
}

}  // namespace

void LookUpZch(OnCpu, Context& ctx, const ZchTable& table, std::span<const ZchFeature> features) {
  for (const ZchFeature& f : features)
    FindAll(ctx, table, f, [&](int64_t i) {
      f.rows[i] = table.slots.Fallback(table.slots.PlaceOf(f.ids[i]), table.fallback_to_others);
    });
}

Tensor TrainZch(OnCpu, Context& ctx, const ZchTable& table, std::span<const ZchFeature> features,
                const ZchOptIn& opt_in, const ZchOnDevice& /*on_device*/) {
  for (const ZchFeature& f : features) {
    FindAll(ctx, table, f, [](int64_t) {});
    for (int64_t i = 0; i < f.count; ++i)
      if (f.rows[i] >= 0) Renew(table, f.rows[i], f.until);
  }
  std::vector<int64_t> changed = {0};
  for (const ZchFeature& f : features)
    for (int64_t i = 0; i < f.count; ++i) {
      if (f.rows[i] >= 0) continue;
      const ZchPlace place = table.slots.PlaceOf(f.ids[i]);
      f.rows[i] = Insert(table, place, f.ids[i], opt_in.Admits(f.first + i), &changed);
      if (f.rows[i] >= 0)
        Renew(table, f.rows[i], f.until);
      else
        f.rows[i] = table.slots.Fallback(place, table.fallback_to_others);
    }
  changed[0] = std::ssize(changed) - 1;
  return Tensor::From(ctx, changed);
}

}  // namespace tessera::internal
