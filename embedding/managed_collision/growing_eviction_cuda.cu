// Rows of a growing index on a GPU that are taken from their ids, those with low scores first.
//
// How many are needed is known on the device alone. A lap looks at as many windows at once as
// overlap nowhere, and frees rows of them in their order, up to the window with which there are
// enough; a lap after that one does nothing. The host gives the GPU as many laps as a call can need
// that names none of the rows, eight at most; a last block goes on from there, window by window.
#include <algorithm>

#include "embedding/lookup/counted_items.cuh"
#include "embedding/managed_collision/growing_rows_cuda.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

constexpr int64_t kVictims = kEvictionWindow / kSeenAVictim;  // of a window, at most
constexpr int kFreeThreads = 1024;
constexpr int64_t kWindowsABlock = kFreeThreads / kVictims;
// A lap looks at so many windows more than victims of full ones are needed.
constexpr int64_t kWindowsAhead = 64;
// With fewer windows than a lap is worth, the last block looks at all.
constexpr int64_t kMaxLaps = 8, kFewWindows = 8;

// The device finds these out when evictions begin and end.
struct EvictionPlan {
  int64_t need, may_look_until;
  int64_t windows;        // of a lap
  int64_t emptied_slots;  // all, if rows are entered anew, and how many these are; else 0
  int64_t entered_rows;
};
constexpr int64_t kPlanNumbers = sizeof(EvictionPlan) / sizeof(int64_t);
constexpr int64_t kPlaceNumbers = sizeof(EvictionPlace) / sizeof(int64_t);

struct EvictionArgs {
  RowColumns columns;
  GrowingScore score;
  const GrowingNumbers* numbers;
  int64_t num_rows;         // all: rows are evicted only where none is left
  int64_t window, windows;  // rows of a window, windows of a lap at most
  EvictionPlan* plan;
  EvictionPlace* places;  // before each lap, before the last block, and after it
  int64_t* victims;       // [windows, kVictims]
  int32_t* counts;        // [windows]: how many of them there are
  int64_t* freed;         // in their order

  TESSERA_HD bool IsLast(const EvictionPlace& place) const {
    return place.freed >= plan->need || place.looked_at >= plan->may_look_until ||
           place.fruitless == (num_rows + kEvictionWindow - 1) / kEvictionWindow;
  }
  // The place behind a window with so many victims.
  TESSERA_HD void Pass(EvictionPlace& place, int64_t count) const {
    place.hand = (place.hand + window) % num_rows;
    place.looked_at += window;
    place.freed += count;
    place.fruitless = count == 0 ? place.fruitless + 1 : 0;
  }
};

struct BeginEvictions {
  EvictionArgs a;
  const int32_t* wanted;
  int64_t may_look_at;
  TESSERA_HD void operator()(int64_t) const {
    const GrowingNumbers& n = *a.numbers;
    const int64_t left = n.num_free + a.num_rows - n.num_rows;
    const int64_t need = *wanted > left ? *wanted - left : 0;
    const int64_t windows = need / kVictims + kWindowsAhead;
    *a.plan = {need, n.looked_at + may_look_at, windows < a.windows ? windows : a.windows, 0, 0};
    a.places[0] = {n.hand, n.looked_at, 0, 0};
  }
};

struct SharedWindow {
  double scores[kEvictionWindow];
  uint32_t rows[kEvictionWindow];
};

// A thread's row of a window. It is a victim if its rank is below the window's count.
struct Candidate {
  int64_t row, rank, count;
};

// Called by all kEvictionWindow threads of a block: each counts the rows that are to be freed
// before its own.
__device__ Candidate CandidateOf(const EvictionArgs& a, int64_t first, SharedWindow& shared) {
  const auto self = static_cast<int64_t>(threadIdx.x);
  const int64_t row = (first + self) % a.num_rows;
  const bool wanted =
      self < a.window && a.columns.counts[row] > 0 && a.columns.last[row] < a.score.now;
  const double score = wanted ? a.score.Of(a.columns.last[row], a.columns.counts[row]) : 0;
  shared.scores[self] = score;
  shared.rows[self] = wanted ? static_cast<uint32_t>(row) : RowColumns::kEmpty;
  const int seen = __syncthreads_count(wanted);
  const int64_t count = (seen + kSeenAVictim - 1) / kSeenAVictim;
  if (!wanted) return {row, count, count};
  int64_t rank = 0;
  for (int64_t j = 0; j < a.window; ++j)
    rank += shared.rows[j] != RowColumns::kEmpty &&
            (shared.scores[j] < score ||
             (shared.scores[j] == score && shared.rows[j] < static_cast<uint32_t>(row)));
  return {row, rank, count};
}

// A block takes a window.
__global__ void __launch_bounds__(kEvictionWindow)
    VictimsKernel(const __grid_constant__ EvictionArgs a, int64_t lap) {
  __shared__ SharedWindow shared;
  const EvictionPlace place = a.places[lap];
  const auto block = static_cast<int64_t>(blockIdx.x);
  if (block >= a.plan->windows || a.IsLast(place)) return;
  const Candidate own = CandidateOf(a, place.hand + block * a.window, shared);
  if (threadIdx.x == 0) a.counts[block] = static_cast<int32_t>(own.count);
  if (own.rank < own.count) a.victims[block * kVictims + own.rank] = own.row;
}

// A thread frees a victim. Each block passes all windows up to its own; the last one notes where
// the lap ends.
__global__ void __launch_bounds__(kFreeThreads)
    FreeVictimsKernel(const __grid_constant__ EvictionArgs a, int64_t lap) {
  __shared__ int32_t counts[kFreeThreads];
  __shared__ int64_t freed_before[kWindowsABlock];  // −1: the window is not looked at
  const auto self = static_cast<int64_t>(threadIdx.x);
  const int64_t windows = a.plan->windows,
                first = static_cast<int64_t>(blockIdx.x) * kWindowsABlock,
                end = std::min(first + kWindowsABlock, windows);
  EvictionPlace place = a.places[lap];
  if (a.IsLast(place)) {
    if (self == 0 && blockIdx.x == 0) a.places[lap + 1] = place;
    return;
  }
  if (first >= windows) return;
  for (int64_t begin = 0; begin < end; begin += kFreeThreads) {
    const int64_t some = std::min(int64_t{kFreeThreads}, end - begin);
    __syncthreads();
    if (self < some) counts[self] = a.counts[begin + self];
    __syncthreads();
    if (self != 0) continue;
    for (int64_t k = 0; k < some; ++k) {
      const bool looked_at = !a.IsLast(place);
      if (begin + k >= first) freed_before[begin + k - first] = looked_at ? place.freed : -1;
      if (looked_at) a.Pass(place, counts[k]);
    }
  }
  if (self == 0 && end == windows) a.places[lap + 1] = place;
  __syncthreads();
  const int64_t own = self / kVictims, window = first + own, victim = self % kVictims;
  if (window >= end || freed_before[own] < 0 || victim >= a.counts[window]) return;
  const int64_t row = a.victims[window * kVictims + victim];
  a.freed[freed_before[own] + victim] = row;
  a.columns.Erase(static_cast<uint32_t>(row));
}

// One block looks at windows, in turn, until there are enough, and says whether rows are to be
// entered anew: erased slots and those of rows stay below three quarters of all, however many are
// freed.
__global__ void __launch_bounds__(kEvictionWindow)
    EndEvictionsKernel(const __grid_constant__ EvictionArgs a, int64_t lap) {
  __shared__ SharedWindow shared;
  EvictionPlace place = a.places[lap];
  while (!a.IsLast(place)) {
    const Candidate own = CandidateOf(a, place.hand, shared);
    if (own.rank < own.count) {
      a.freed[place.freed + own.rank] = own.row;
      a.columns.Erase(static_cast<uint32_t>(own.row));
    }
    a.Pass(place, own.count);
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  a.places[lap + 1] = place;
  const auto slots = static_cast<int64_t>(a.columns.mask + 1);
  if (a.numbers->erased + place.freed <= slots / 4) return;
  a.plan->emptied_slots = slots;
  a.plan->entered_rows = a.num_rows;
}

struct EmptySlot {
  uint32_t* slots;
  TESSERA_HD void operator()(int64_t s) const { slots[s] = RowColumns::kEmpty; }
};

// Laps after which a call that names none of the rows has freed as many as it needs.
int64_t LapsFor(const EvictionArgs& args, int64_t need) {
  if (args.windows <= kFewWindows) return 0;
  int64_t laps = 0;
  for (int64_t left = args.window, freed = 0; freed < need && laps < kMaxLaps; ++laps) {
    const int64_t victims = (left + kSeenAVictim - 1) / kSeenAVictim;
    freed += victims * args.windows;
    left -= victims;
  }
  return laps;
}

void LaunchLap(Context& ctx, const EvictionArgs& args, int64_t lap) {
  const auto windows = static_cast<unsigned>(args.windows),
             blocks = static_cast<unsigned>((args.windows + kWindowsABlock - 1) / kWindowsABlock);
  Launch(ctx, VictimsKernel, dim3(windows), dim3(kEvictionWindow), 0, args, lap);
  Launch(ctx, FreeVictimsKernel, dim3(blocks), dim3(kFreeThreads), 0, args, lap);
}

}  // namespace

Evictions Evict(Context& ctx, GrowingRows* rows, const GrowingCall& call, const int32_t* wanted,
                int64_t most_wanted) {
  const int64_t window = std::min(kEvictionWindow, call.max_rows),
                windows = std::min(call.max_rows / window, most_wanted / kVictims + kWindowsAhead),
                most_freed = std::min(most_wanted + kVictims, call.max_rows);
  constexpr int64_t kPlaces = (kMaxLaps + 2) * kPlaceNumbers;
  Evictions evictions;
  evictions.memory =
      Tensor::Empty(ctx, {kPlanNumbers + kPlaces + most_freed + windows * kVictims}, DType::kI64);
  const Tensor counts = Tensor::Empty(ctx, {windows}, DType::kI32);
  auto* numbers = evictions.memory.data<int64_t>();
  const EvictionArgs args = {RowColumns(*rows),
                             {call.score, call.now},
                             reinterpret_cast<const GrowingNumbers*>(rows->numbers.data<int64_t>()),
                             call.max_rows,
                             window,
                             windows,
                             reinterpret_cast<EvictionPlan*>(numbers),
                             reinterpret_cast<EvictionPlace*>(numbers + kPlanNumbers),
                             numbers + kPlanNumbers + kPlaces + most_freed,
                             counts.data<int32_t>(),
                             numbers + kPlanNumbers + kPlaces};
  const int64_t laps = LapsFor(args, most_wanted);
  ForEach(ctx, 1, BeginEvictions{args, wanted, call.may_look_at});
  for (int64_t lap = 0; lap < laps; ++lap) LaunchLap(ctx, args, lap);
  Launch(ctx, EndEvictionsKernel, dim3(1), dim3(kEvictionWindow), 0, args, laps);
  evictions.end = args.places + laps + 1;
  evictions.freed = args.freed;
  evictions.entered_anew = &args.plan->entered_rows;
  rows->most_erased += most_freed;
  const int64_t slots = rows->slots.numel();
  if (rows->most_erased <= slots / 4) return evictions;
  ForEachCounted(ctx, &args.plan->emptied_slots, slots, 1, EmptySlot{args.columns.slots});
  ForEachCounted(ctx, evictions.entered_anew, call.max_rows, 1, EnterRow{args.columns});
  return evictions;
}

}  // namespace tessera::internal
