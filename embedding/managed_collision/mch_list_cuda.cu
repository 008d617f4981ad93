// The list on a GPU: everything that is ordered is ordered by stable sorts, of the last criterion
// first.
#include <algorithm>
#include <bit>

#include "embedding/managed_collision/index/sorted_ids.cuh"
#include "embedding/managed_collision/mch_list.h"

namespace tessera::internal {
namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;

// Ascends as x does. x is not NaN.
TESSERA_HD uint64_t KeyOf(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

struct Latest {
  const int64_t *inverse, *times;
  Count* latest;
  __device__ void operator()(int64_t i) const {
    atomicMax(latest + inverse[i], static_cast<Count>(times[i]));
  }
};

struct CandidateColumns {
  const int64_t *ids, *counts, *last;
  const uint8_t* admitted;
};

// Flags the candidates that are not in the list.
struct AbsorbOne {
  MchColumns list;
  CandidateColumns candidates;
  uint8_t* flags;
  TESSERA_HD void operator()(int64_t u) const {
    flags[u] = 0;
    if (candidates.ids[u] == kNobody ||
        (candidates.admitted != nullptr && candidates.admitted[u] == 0))
      return;
    const int64_t place = list.PlaceOf(candidates.ids[u]);
    flags[u] = place < 0;
    if (place < 0) return;
    if (list.counts != nullptr) list.counts[place] += candidates.counts[u];
    if (list.last != nullptr) list.last[place] = candidates.last[u];
  }
};

struct RenewMissRow {
  MchColumns list;
  int64_t now;
  TESSERA_HD void operator()(int64_t) const {
    if (list.counts != nullptr) list.counts[list.size - 1] = kNobody;
    if (list.last != nullptr) list.last[list.size - 1] = now;
  }
};

// Keys that sort newcomers by count, descending; before that they are in the order of their ids.
struct CountKey {
  const int32_t* newcomers;
  const int64_t* counts;
  uint64_t* keys;
  uint32_t* numbers;
  TESSERA_HD void operator()(int64_t i) const {
    numbers[i] = static_cast<uint32_t>(newcomers[i]);
    keys[i] = ~static_cast<uint64_t>(counts[newcomers[i]]);
  }
};

struct NewcomerKey {
  CandidateColumns candidates;
  MchScore score;
  const uint32_t* numbers;
  uint64_t* keys;
  TESSERA_HD void operator()(int64_t i) const {
    keys[i] = ~KeyOf(score.At(candidates.counts, candidates.last, numbers[i]));
  }
};

// Keys that sort places; they are listed from the last on, since among equals the last is the
// worst.
struct PlaceKey {
  MchColumns list;
  MchScore score;
  uint64_t* keys;
  uint32_t* numbers;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t place = list.size - 2 - i;
    numbers[i] = static_cast<uint32_t>(place);
    keys[i] = KeyOf(score.At(list.counts, list.last, place));
  }
};

// Counts the newcomers, best first, that are better than the worst place left.
struct CountSwaps {
  const uint64_t *best, *worst;
  int64_t most;
  int32_t* swaps;
  TESSERA_HD bool Wins(int64_t i) const { return i < most && ~best[i] > worst[i]; }
  TESSERA_HD void operator()(int64_t i) const {
    if (Wins(i) && !Wins(i + 1)) *swaps = static_cast<int32_t>(i + 1);
  }
};

struct SwapOne {
  MchColumns list;
  CandidateColumns candidates;
  const uint32_t *best, *worst;
  int64_t swaps;
  int64_t* evicted;  // [swaps], then their number
  __device__ void operator()(int64_t i) const {
    const int64_t place = worst[swaps - 1 - i], u = best[i];
    if (list.ids[place] != kNobody)
      evicted[atomicAdd(reinterpret_cast<Count*>(evicted + swaps), Count{1})] = list.rows[place];
    list.ids[place] = candidates.ids[u];
    if (list.counts != nullptr) list.counts[place] = candidates.counts[u];
    if (list.last != nullptr) list.last[place] = candidates.last[u];
  }
};

struct TakeColumn {
  const uint32_t* order;
  const int64_t* from;
  int64_t* to;
  TESSERA_HD void operator()(int64_t p) const { to[p] = from[order[p]]; }
};

void SortById(Context& ctx, MchList* list) {
  const int64_t n = list->ids.numel();
  const KeyedNumbers by_id = SortIds(ctx, list->ids);
  for (Tensor* column : {&list->ids, &list->rows, &list->counts, &list->last}) {
    if (!column->defined()) continue;
    const Tensor sorted = Tensor::Empty(ctx, {n}, DType::kI64);
    ForEach(ctx, n, TakeColumn{by_id.numbers(), column->data<int64_t>(), sorted.data<int64_t>()});
    *column = sorted;
  }
}

// Newcomers, best first.
KeyedNumbers RankNewcomers(Context& ctx, const CandidateColumns& candidates,
                           const Tensor& newcomers, const MchScore& score) {
  const int64_t n = newcomers.numel();
  KeyedNumbers best(ctx, n);
  ForEach(ctx, n,
          CountKey{newcomers.data<int32_t>(), candidates.counts, best.keys(), best.numbers()});
  best.Sort(ctx);
  ForEach(ctx, n, NewcomerKey{candidates, score, best.numbers(), best.keys()});
  best.Sort(ctx);
  return best;
}

// REQUIRES: there are newcomers and places.
std::vector<int64_t> CompeteSync(Context& ctx, MchList* list, const CandidateColumns& candidates,
                                 const Tensor& newcomers, const MchScore& score) {
  const MchColumns columns(*list);
  const int64_t places = columns.size - 1, most = std::min(newcomers.numel(), places);
  const KeyedNumbers best = RankNewcomers(ctx, candidates, newcomers, score);
  KeyedNumbers worst(ctx, places);
  ForEach(ctx, places, PlaceKey{columns, score, worst.keys(), worst.numbers()});
  worst.Sort(ctx);
  const Tensor count = Tensor::Zeros(ctx, {1}, DType::kI32);
  ForEach(ctx, most, CountSwaps{best.keys(), worst.keys(), most, count.data<int32_t>()});
  const int64_t swaps = ReadScalarSync(ctx, count.data<int32_t>());
  if (swaps == 0) return {};
  const Tensor evicted = Tensor::Zeros(ctx, {swaps + 1}, DType::kI64);
  ForEach(ctx, swaps,
          SwapOne{columns, candidates, best.numbers(), worst.numbers(), swaps,
                  evicted.data<int64_t>()});
  SortById(ctx, list);
  // Rows and their number come in one copy: the host waits once.
  std::vector<int64_t> rows = evicted.ToVector<int64_t>();
  rows.resize(static_cast<size_t>(rows.back()));
  return rows;
}

}  // namespace

void RemapIds(OnCuda, Context& ctx, int64_t n, const RemapByList& remap) { ForEach(ctx, n, remap); }

Tensor LatestOf(OnCuda, Context& ctx, const Tensor& inverse, const Tensor& times,
                int64_t distinct) {
  const Tensor latest = Tensor::Zeros(ctx, {distinct}, DType::kI64);
  ForEach(ctx, inverse.numel(),
          Latest{inverse.data<int64_t>(), times.data<int64_t>(),
                 reinterpret_cast<Count*>(latest.data<int64_t>())});
  return latest;
}

std::vector<int64_t> UpdateListSync(OnCuda, Context& ctx, MchList* list,
                                    const MchCandidates& candidates, const MchScore& score) {
  const MchColumns columns(*list);
  const int64_t n = candidates.ids.numel();
  TESSERA_CHECK(std::max(n, columns.size) < int64_t{1} << 31,
                "MCH: {} places and {} ids: a device numbers them with 31 bits", columns.size, n);
  const CandidateColumns of = {
      candidates.ids.data<int64_t>(), candidates.counts.data<int64_t>(),
      MchColumns::Column(candidates.last),
      candidates.admitted.defined() ? candidates.admitted.data<uint8_t>() : nullptr};
  const Tensor flags = Tensor::Empty(ctx, {n}, DType::kU8),
               newcomers = Tensor::Empty(ctx, {n}, DType::kI32),
               count = Tensor::Zeros(ctx, {1}, DType::kI32);
  ForEach(ctx, n, AbsorbOne{columns, of, flags.data<uint8_t>()});
  ForEach(ctx, 1, RenewMissRow{columns, score.now()});
  SelectFlagged(ctx, flags.data<uint8_t>(), n, newcomers.data<int32_t>(), count.data<int32_t>());
  const int64_t found = ReadScalarSync(ctx, count.data<int32_t>());
  if (found == 0 || columns.size == 1) return {};
  return CompeteSync(ctx, list, of, newcomers.Rows(0, found), score);
}

}  // namespace tessera::internal
