// Rows of a growing index on a GPU that are taken from their ids, those with low scores first.
//
// A lap looks at as many windows at once as overlap nowhere, and frees rows of them in their order,
// up to the window with which there are enough. A table whose rows are few beside those that are
// needed goes through many laps; the host gives them to the GPU without waiting between them, and a
// lap after the last one does nothing.
#include <algorithm>
#include <vector>

#include "embedding/managed_collision/growing_rows_cuda.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

constexpr int64_t kVictims = kEvictionWindow / kSeenAVictim;  // of a window, at most
constexpr int kFreeThreads = 1024;
constexpr int64_t kWindowsABlock = kFreeThreads / kVictims;
// Laps between two waits of the host.
constexpr int64_t kMostLaps = 64;

// How far evictions have come.
struct EvictionPlace {
  int64_t hand, looked_at, freed;
  int64_t fruitless;  // windows without a victim, the last ones
};
constexpr int64_t kPlaceNumbers = sizeof(EvictionPlace) / sizeof(int64_t);

struct EvictionArgs {
  RowColumns columns;
  GrowingScore score;
  int64_t num_rows, need, may_look_until;
  int64_t window, windows;  // rows of a window, windows of a lap
  EvictionPlace* places;    // before each lap, and after the last one
  int64_t* victims;         // [windows, kVictims]
  int32_t* counts;          // [windows]: how many of them there are
  int64_t* freed;           // in their order

  TESSERA_HD bool AllAreNamed(const EvictionPlace& place) const {
    return place.fruitless == (num_rows + kEvictionWindow - 1) / kEvictionWindow;
  }
  TESSERA_HD bool IsLast(const EvictionPlace& place) const {
    return place.freed >= need || place.looked_at >= may_look_until || AllAreNamed(place);
  }
  // The place behind a window with so many victims.
  TESSERA_HD void Pass(EvictionPlace& place, int64_t count) const {
    place.hand = (place.hand + window) % num_rows;
    place.looked_at += window;
    place.freed += count;
    place.fruitless = count == 0 ? place.fruitless + 1 : 0;
  }
};

// A block takes a window: each thread counts the rows that are to be freed before its own.
__global__ void __launch_bounds__(kEvictionWindow)
    VictimsKernel(const __grid_constant__ EvictionArgs a, int64_t lap) {
  __shared__ double scores[kEvictionWindow];
  __shared__ uint32_t rows[kEvictionWindow];
  const EvictionPlace place = a.places[lap];
  if (a.IsLast(place)) return;
  const auto self = static_cast<int64_t>(threadIdx.x), block = static_cast<int64_t>(blockIdx.x);
  const int64_t row = (place.hand + block * a.window + self) % a.num_rows;
  const bool wanted =
      self < a.window && a.columns.counts[row] > 0 && a.columns.last[row] < a.score.now;
  const double score = wanted ? a.score.Of(a.columns.last[row], a.columns.counts[row]) : 0;
  scores[self] = score;
  rows[self] = wanted ? static_cast<uint32_t>(row) : RowColumns::kEmpty;
  const int seen = __syncthreads_count(wanted);
  const int64_t count = (seen + kSeenAVictim - 1) / kSeenAVictim;
  if (self == 0) a.counts[block] = static_cast<int32_t>(count);
  if (!wanted) return;
  int64_t before = 0;
  for (int64_t j = 0; j < a.window; ++j)
    before += rows[j] != RowColumns::kEmpty &&
              (scores[j] < score || (scores[j] == score && rows[j] < static_cast<uint32_t>(row)));
  if (before < count) a.victims[block * kVictims + before] = row;
}

// A thread frees a victim. Each block passes all windows up to its own; the last one notes where
// the lap ends.
__global__ void __launch_bounds__(kFreeThreads)
    FreeVictimsKernel(const __grid_constant__ EvictionArgs a, int64_t lap) {
  __shared__ int32_t counts[kFreeThreads];
  __shared__ int64_t freed_before[kWindowsABlock];  // −1: the window is not looked at
  const auto self = static_cast<int64_t>(threadIdx.x);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kWindowsABlock,
                end = std::min(first + kWindowsABlock, a.windows);
  EvictionPlace place = a.places[lap];
  if (a.IsLast(place)) {
    if (self == 0 && end == a.windows) a.places[lap + 1] = place;
    return;
  }
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
  if (self == 0 && end == a.windows) a.places[lap + 1] = place;
  __syncthreads();
  const int64_t own = self / kVictims, window = first + own, victim = self % kVictims;
  if (window >= end || freed_before[own] < 0 || victim >= a.counts[window]) return;
  const int64_t row = a.victims[window * kVictims + victim];
  a.freed[freed_before[own] + victim] = row;
  a.columns.Erase(static_cast<uint32_t>(row));
}

void LaunchLap(Context& ctx, const EvictionArgs& args, int64_t lap) {
  const auto windows = static_cast<unsigned>(args.windows),
             blocks = static_cast<unsigned>((args.windows + kWindowsABlock - 1) / kWindowsABlock);
  Launch(ctx, VictimsKernel, dim3(windows), dim3(kEvictionWindow), 0, args, lap);
  Launch(ctx, FreeVictimsKernel, dim3(blocks), dim3(kFreeThreads), 0, args, lap);
}

}  // namespace

std::vector<int64_t> EvictSync(Context& ctx, GrowingRows* rows, const GrowingCall& call,
                               int64_t need) {
  constexpr int64_t kAhead = 64;
  const int64_t window = std::min(kEvictionWindow, call.num_rows),
                windows = std::min(call.num_rows / window, need / kVictims + kAhead),
                most_freed = std::min(need + kVictims, call.num_rows);
  // Places, then the rows that were freed: the host reads them together.
  constexpr int64_t kPlaces = (kMostLaps + 1) * kPlaceNumbers;
  const Tensor told = Tensor::Empty(ctx, {kPlaces + most_freed}, DType::kI64),
               victims = Tensor::Empty(ctx, {windows * kVictims}, DType::kI64),
               counts = Tensor::Empty(ctx, {windows}, DType::kI32);
  auto* numbers = told.data<int64_t>();
  const EvictionArgs args = {RowColumns(*rows),
                             {call.score, call.now},
                             call.num_rows,
                             need,
                             call.may_look_until,
                             window,
                             windows,
                             reinterpret_cast<EvictionPlace*>(numbers),
                             victims.data<int64_t>(),
                             counts.data<int32_t>(),
                             numbers + kPlaces};
  EvictionPlace place = {call.hand, call.looked_at, 0, 0};
  std::vector<int64_t> read;
  for (int64_t laps = 1 + most_freed / (windows * kVictims); !args.IsLast(place); laps *= 2) {
    laps = std::min(laps, kMostLaps);
    const std::vector<int64_t> from = {place.hand, place.looked_at, place.freed, place.fruitless};
    told.Rows(0, kPlaceNumbers).CopyFrom(ctx, Tensor::From(ctx, from));
    for (int64_t lap = 0; lap < laps; ++lap) LaunchLap(ctx, args, lap);
    read = told.ToVector<int64_t>();
    const int64_t* end = &read[static_cast<size_t>(laps * kPlaceNumbers)];
    place = {end[0], end[1], end[2], end[3]};
  }
  call.hand = place.hand;
  call.looked_at = place.looked_at;
  if (args.AllAreNamed(place)) call.may_look_until = call.looked_at;
  if (place.freed == 0) return {};
  // Erased slots and those of rows stay below three quarters of all, however many are freed.
  rows->erased += place.freed;
  if (rows->erased > rows->slots.numel() / 4) EnterAnew(ctx, rows, call.num_rows);
  return {read.begin() + kPlaces, read.begin() + kPlaces + place.freed};
}

}  // namespace tessera::internal
