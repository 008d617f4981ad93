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

#include "embedding/managed_collision/index/zch_probe.h"
#include "runtime/context.h"
#include "runtime/numbers/random.h"
#include "runtime/tensor.h"

namespace tessera::internal {

struct ZchTable {
  ZchSlots slots;
  int64_t* identities;  // those of `slots`
  int32_t* times;       // null without a policy
  int64_t now;
  bool lru, fallback_to_others;

  // A place on an id's list: the lowest first. Without LRU, available slots by number; with it,
  // empty ones by number, then those whose time has come, by time, by number.
  static constexpr uint64_t kUnavailable = ~uint64_t{0}, kByTime = uint64_t{1} << 63;
  static constexpr int kProbeBits = 31;
  static TESSERA_HD int64_t ProbeOf(uint64_t choice) {
    return static_cast<int64_t>(choice & ((uint64_t{1} << kProbeBits) - 1));
  }
  TESSERA_HD uint64_t ChoiceOf(const ZchPlace& place, int64_t probe) const {
    const int64_t slot = slots.Slot(place, probe);
    const auto number = static_cast<uint64_t>(probe);
    const bool is_empty = identities[slot] == kEmptySlot;
    if (times == nullptr) return is_empty ? number : kUnavailable;
    const int32_t time = times[slot];
    if (is_empty || (!lru && time < now)) return number;
    if (time >= now) return kUnavailable;
    return kByTime | uint64_t{static_cast<uint32_t>(time) ^ 0x80000000u} << kProbeBits | number;
  }
  // The best choice of an id that is not before `from`, or kUnavailable.
  TESSERA_HD uint64_t NextChoice(const ZchPlace& place, uint64_t from) const {
    uint64_t best = kUnavailable;
    for (int64_t probe = 0; probe < slots.probes() && best >= kByTime; ++probe) {
      const uint64_t choice = ChoiceOf(place, probe);
      if (choice >= from && choice < best) best = choice;
    }
    return best;
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

// Memory of a GPU that training forwards leave for later ones.
struct ZchOnDevice {
  int32_t* claims;   // [zch_size], all −1 before and after a forward
  int64_t* changes;  // [1], times that a slot went from one id to another in all forwards
};

// A training forward. Returns which slots went from one id to another, i64 [1 + n] on the table's
// device: how many, then these, in any order, then anything; undefined if none can have.
// on_device: for CUDA alone. Nothing waits.
Tensor TrainZch(OnCpu, Context& ctx, const ZchTable& table, std::span<const ZchFeature> features,
                const ZchOptIn& opt_in, const ZchOnDevice& on_device);
Tensor TrainZch(OnCuda, Context& ctx, const ZchTable& table, std::span<const ZchFeature> features,
                const ZchOptIn& opt_in, const ZchOnDevice& on_device);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_ZCH_FORWARD_H_
