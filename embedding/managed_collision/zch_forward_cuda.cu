// Multi-probe hashing on a GPU: a thread an id. Distinct ids that have no slot are numbered by
// where they first may have one, and propose to slots by atomic minima of these numbers, a warp an
// id: its lanes look at the slots of the list.
#include "embedding/lookup/counted_items.cuh"
#include "embedding/lookup/feature_items.cuh"
#include "embedding/lookup/index_array.h"
#include "embedding/managed_collision/index/first_occurrences.cuh"
#include "embedding/managed_collision/zch_forward.h"
#include "runtime/tensor.h"
#include "sparse/ops/warp.cuh"

namespace tessera::internal {
namespace {

constexpr uint32_t kNobody = IdClaims::kNone;
constexpr int kThreads = 128;

struct LookUp {
  ZchTable table;
  TESSERA_HD void operator()(const ZchFeature& f, int64_t i) const {
    const int64_t id = f.ids[i];
    const ZchPlace place = table.slots.PlaceOf(id);
    const int64_t slot = table.slots.Find(place, id);
    f.rows[i] = slot >= 0 ? slot : table.slots.Fallback(place, table.fallback_to_others);
  }
};

// Reads the rows of ids that have one, and renews these; flags the others that may have one.
struct FindAndRenew {
  ZchTable table;
  ZchOptIn opt_in;
  int64_t* ids;
  uint8_t* flags;
  __device__ void operator()(const ZchFeature& f, int64_t i) const {
    const int64_t id = f.ids[i], slot = table.slots.Find(table.slots.PlaceOf(id), id);
    f.rows[i] = slot;
    ids[f.first + i] = id;
    flags[f.first + i] = slot < 0 && id != kEmptySlot && opt_in.Admits(f.first + i);
    if (slot >= 0 && table.times != nullptr) atomicMax(table.times + slot, f.until);
  }
};

struct ClaimFlagged {
  IdClaims claims;
  const uint8_t* flags;
  __device__ void operator()(int64_t i) const { flags[i] != 0 ? claims.Claim(i) : claims.Pass(i); }
};

// Distinct ids that may get slots, by their first occurrences, and the slots that they claim: each
// slot keeps the lowest number of the occurrences that chose it.
struct Claims {
  const int64_t* ids;     // of the batch
  const int32_t* firsts;  // [*count]
  const int32_t* count;
  uint32_t* claims;
};

__device__ int64_t GlobalWarps() {
  return static_cast<int64_t>(gridDim.x) * (blockDim.x / static_cast<unsigned>(kLanes));
}

// NextChoice of all lanes together.
__device__ uint64_t NextChoiceOfWarp(const ZchTable& table, const ZchPlace& place, uint64_t from) {
  uint64_t best = ZchTable::kUnavailable;
  for (int64_t probe = Lane(); probe < table.slots.probes(); probe += kLanes) {
    const uint64_t choice = table.ChoiceOf(place, probe);
    if (choice >= from && choice < best) best = choice;
  }
  for (int half = kLanes / 2; half > 0; half /= 2) {
    const uint64_t other = __shfl_xor_sync(~0u, best, half);
    best = other < best ? other : best;
  }
  return best;
}

// Called by all lanes together.
__device__ void Propose(const ZchTable& table, const Claims& distinct, uint32_t number) {
  ZchPlace place = table.slots.PlaceOf(distinct.ids[number]);
  uint64_t choice = NextChoiceOfWarp(table, place, 0);
  while (choice != ZchTable::kUnavailable) {
    const int64_t slot = table.slots.Slot(place, ZchTable::ProbeOf(choice));
    uint32_t before = 0;
    if (Lane() == 0) before = atomicMin(distinct.claims + slot, number);
    before = __shfl_sync(~0u, before, 0);
    if (before == kNobody) return;
    if (before > number) {  // who had the slot goes on
      number = before;
      place = table.slots.PlaceOf(distinct.ids[number]);
      choice = table.ChoiceOf(place, table.slots.ProbeOf(place, slot));
    }
    choice = NextChoiceOfWarp(table, place, choice + 1);
  }
}

__global__ void __launch_bounds__(kThreads)
    ProposeKernel(const __grid_constant__ ZchTable table, const __grid_constant__ Claims distinct) {
  for (int64_t u = GlobalWarp(); u < *distinct.count; u += GlobalWarps())
    Propose(table, distinct, static_cast<uint32_t>(distinct.firsts[u]));
}

struct SettleArgs {
  ZchTable table;
  Claims distinct;
  int64_t* chosen;   // slot of each distinct id, or −1
  int64_t* changed;  // how many slots had other owners, then these, in any order
  __device__ void Change(int64_t slot) const {
    auto* const count = reinterpret_cast<unsigned long long*>(changed);
    changed[1 + atomicAdd(count, 1ull)] = slot;
  }
};

// Called by all lanes together.
__device__ void Settle(const SettleArgs& a, int64_t u) {
  const auto number = static_cast<uint32_t>(a.distinct.firsts[u]);
  const int64_t id = a.distinct.ids[number];
  const ZchPlace place = a.table.slots.PlaceOf(id);
  if (Lane() == 0) a.chosen[u] = -1;
  __syncwarp();
  for (int64_t probe = Lane(); probe < a.table.slots.probes(); probe += kLanes) {
    const int64_t slot = a.table.slots.Slot(place, probe);
    if (a.distinct.claims[slot] != number) continue;
    if (a.table.identities[slot] != kEmptySlot) a.Change(slot);
    a.table.identities[slot] = id;
    a.chosen[u] = slot;
  }
}

__global__ void __launch_bounds__(kThreads) SettleKernel(const __grid_constant__ SettleArgs a) {
  for (int64_t u = GlobalWarp(); u < *a.distinct.count; u += GlobalWarps()) Settle(a, u);
}

// Reads the rows of ids that had none: a row given away now counts from the occurrence on that got
// it.
struct ReadNewRows {
  ZchTable table;
  const uint32_t* claims;
  __device__ void operator()(const ZchFeature& f, int64_t i) const {
    if (f.rows[i] >= 0) return;
    const int64_t id = f.ids[i];
    const ZchPlace place = table.slots.PlaceOf(id);
    const int64_t slot = table.slots.Find(place, id);
    const uint32_t owner = slot < 0 ? kNobody : claims[slot];
    if (owner != kNobody && owner <= f.first + i) {
      f.rows[i] = slot;
      if (table.times != nullptr) atomicMax(table.times + slot, f.until);
    } else {
      f.rows[i] = table.slots.Fallback(place, table.fallback_to_others);
    }
  }
};

// Slots change only where there are distinct ids, the first of which counts the changes.
struct Unclaim {
  const int64_t* chosen;
  uint32_t* claims;
  const int64_t* changed;
  int64_t* changes;
  TESSERA_HD void operator()(int64_t u) const {
    if (chosen[u] >= 0) claims[chosen[u]] = kNobody;
    if (u == 0) *changes += *changed;
  }
};

// Warps for at most n ids, which take turns where there are more than the device holds at once.
dim3 BlocksOfSomeWarps(const Context& ctx, int64_t n) {
  const auto full = static_cast<unsigned>(16 * PropertiesOf(ctx.device()).multiprocessors);
  return dim3(std::min(BlocksOfWarps(n, kThreads).x, full));
}

}  // namespace

void LookUpZch(OnCuda on, Context& ctx, const ZchTable& table,
               std::span<const ZchFeature> features) {
  ForEachItem(on, ctx, features, 1, LookUp{table});
}

Tensor TrainZch(OnCuda on, Context& ctx, const ZchTable& table,
                std::span<const ZchFeature> features, const ZchOptIn& opt_in,
                const ZchOnDevice& on_device) {
  const int64_t n = features.empty() ? 0 : features.back().first + features.back().count;
  TESSERA_CHECK(n < int64_t{1} << 31, "hash ZCH: {} ids: a device numbers them with 31 bits", n);
  if (n == 0) return {};
  auto* claims = reinterpret_cast<uint32_t*>(on_device.claims);
  const Tensor ids = Tensor::Empty(ctx, {n}, DType::kI64),
               flags = Tensor::Empty(ctx, {n}, DType::kU8),
               chosen = Tensor::Empty(ctx, {n}, DType::kI64),
               changed = Tensor::Empty(ctx, {1 + n}, DType::kI64);
  changed.Rows(0, 1).Fill(ctx, 0);
  auto* flag = flags.data<uint8_t>();
  ForEachItem(on, ctx, features, 1, FindAndRenew{table, opt_in, ids.data<int64_t>(), flag});
  FirstOccurrences firsts(ctx, ArrayOf(ids), n);
  ForEach(ctx, n, ClaimFlagged{firsts.claims(), flag});
  firsts.List(ctx);
  const Claims distinct = {ids.data<int64_t>(), firsts.firsts(), firsts.count(), claims};
  const dim3 blocks = BlocksOfSomeWarps(ctx, n);
  Launch(ctx, ProposeKernel, blocks, dim3(kThreads), 0, table, distinct);
  Launch(ctx, SettleKernel, blocks, dim3(kThreads), 0,
         SettleArgs{table, distinct, chosen.data<int64_t>(), changed.data<int64_t>()});
  ForEachItem(on, ctx, features, 1, ReadNewRows{table, claims});
  ForEachCounted(
      ctx, firsts.count(), n, 1,
      Unclaim{chosen.data<int64_t>(), claims, changed.data<int64_t>(), on_device.changes});
  return table.times == nullptr ? Tensor() : changed;  // without times none is taken from an id
}

}  // namespace tessera::internal
