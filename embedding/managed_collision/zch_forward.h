#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_ZCH_FORWARD_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_ZCH_FORWARD_H_
// A forward of hash_zch_managed_collision_module.h, on each device.
//
// What an id that has no slot chooses is a list: all available slots that it looks at, best first.
// A slot is available if it is empty or its time has come, and in one forward slots only cease to
// be so: nobody's list changes but that places on it are taken. Ids that choose in turn, as the
// CPU's do, therefore get what they get when all propose at once to the best slots on their lists,
// slots keep the id that comes first in the batch, and the others go on to their next (Gale and
// Shapley): that outcome is one, whoever proposes when.
#include <span>
#include <vector>

#include "embedding/managed_collision/index/zch_probe.h"
#include "runtime/context.h"
#include "runtime/numbers/random.h"

namespace tessera::internal {

struct ZchTable {
  ZchSlots slots;
  int64_t* identities;  // those of `slots`
  int32_t* times;       // null without a policy
  int64_t now;
  bool lru, fallback_to_others;

  // Number `probe` of an id's choices. −1 before the first of them, and where there is none.
  // Without LRU, available slots by number; with it, empty ones by number, then those whose time
  // has come, by time, by number.
  TESSERA_HD int64_t NextChoice(const ZchPlace& place, int64_t probe) const {
    if (!lru || probe < 0 || IsEmpty(place, probe)) {
      for (int64_t p = probe + 1; p < slots.probes(); ++p)
        if (IsEmpty(place, p) || (!lru && IsExpired(place, p))) return p;
      if (!lru) return -1;
      probe = -1;
    }
    int64_t best = -1;
    for (int64_t p = 0; p < slots.probes(); ++p)
      if (!IsEmpty(place, p) && IsExpired(place, p) && (probe < 0 || IsSooner(place, probe, p)) &&
          (best < 0 || IsSooner(place, p, best)))
        best = p;
    return best;
  }

 private:
  TESSERA_HD bool IsEmpty(const ZchPlace& place, int64_t probe) const {
    return identities[slots.Slot(place, probe)] == kEmptySlot;
  }
  TESSERA_HD bool IsExpired(const ZchPlace& place, int64_t probe) const {
    return times != nullptr && times[slots.Slot(place, probe)] < now;
  }
  TESSERA_HD bool IsSooner(const ZchPlace& place, int64_t a, int64_t b) const {
    const int32_t of_a = times[slots.Slot(place, a)], of_b = times[slots.Slot(place, b)];
    return of_a < of_b || (of_a == of_b && a < b);
  }
};

// A feature's ids, on the table's device.
struct ZchFeature {
  int64_t count;
  IndexArray ids;
  int64_t* rows;  // to be written
  int64_t first;  // ids of the features before
  int32_t until;  // the time that its ids have from now on
};

// Which ids that have no slot may have one: number i of all with this chance.
struct ZchOptIn {
  uint64_t seed, sequence;
  int percent;
  TESSERA_HD bool Admits(int64_t i) const {
    if (percent >= 100) return true;
    const PhiloxBits bits = Philox(seed, sequence, static_cast<uint64_t>(i));
    return UniformBelow(100, bits.v[0], bits.v[1]) < percent;
  }
};

// Looks ids up and changes nothing.
void LookUpZch(OnCpu, Context& ctx, const ZchTable& table, std::span<const ZchFeature> features);
void LookUpZch(OnCuda, Context& ctx, const ZchTable& table, std::span<const ZchFeature> features);

// A training forward: the slots that went from one id to another, in any order. claims: on CUDA
// [zch_size] i32, all −1 before and after. Waits for a device.
std::vector<int64_t> TrainZchSync(OnCpu, Context& ctx, const ZchTable& table,
                                  std::span<const ZchFeature> features, const ZchOptIn& opt_in,
                                  int32_t* claims);
std::vector<int64_t> TrainZchSync(OnCuda, Context& ctx, const ZchTable& table,
                                  std::span<const ZchFeature> features, const ZchOptIn& opt_in,
                                  int32_t* claims);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_ZCH_FORWARD_H_
