// An insertion into a growing index on a GPU: ids that have rows are noted, the others sorted; who
// came first gets a row first.
#include <optional>
#include <unordered_set>
#include <utility>

#include "embedding/lookup/index_array.h"
#include "embedding/managed_collision/growing_rows_cuda.cuh"
#include "embedding/managed_collision/index/sorted_ids.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

struct Touch {
  RowColumns columns;
  IndexArray ids;
  int64_t now;
  int64_t* rows;
  uint8_t* flags;  // of those that have none
  __device__ void operator()(int64_t i) const {
    const int64_t row = columns.Find(ids[i]);
    rows[i] = row;
    flags[i] = row < 0;
    if (row < 0) return;
    columns.last[row] = now;
    atomicAdd(reinterpret_cast<Count*>(columns.counts + row), Count{1});
  }
};

struct MarkFirst {
  IdRuns runs;
  int32_t* firsts;
  TESSERA_HD void operator()(int64_t u) const { firsts[runs.First(u)] = 1; }
};

// The id that came r-th gets given[r].
struct GiveRow {
  RowColumns columns;
  IdRuns runs;
  const int64_t *ids, *given;
  const int32_t* ranks;
  int64_t num_given, now;
  __device__ void operator()(int64_t u) const {
    const uint32_t first = runs.First(u);
    if (ranks[first] >= num_given) return;
    const int64_t row = given[ranks[first]];
    columns.ids[row] = ids[first];
    columns.last[row] = now;
    columns.counts[row] = runs.Length(u);
    columns.Enter(static_cast<uint32_t>(row));
  }
};

struct FindAgain {
  RowColumns columns;
  const int64_t* ids;
  const int32_t* places;
  int64_t* rows;
  TESSERA_HD void operator()(int64_t k) const { rows[places[k]] = columns.Find(ids[k]); }
};

// The occurrences of ids without rows: their places and their ids.
struct Missing {
  Tensor places, ids;
};

// The occurrences that admit their id, or come after one that did, for at most `most_ids` ids.
std::vector<size_t> Admit(const std::vector<int64_t>& ids, size_t most_ids,
                          const GrowingCall& call) {
  std::unordered_set<int64_t> admitted;
  std::vector<size_t> kept;
  for (size_t k = 0; k < ids.size(); ++k) {
    if (!admitted.contains(ids[k])) {
      if (call.sketch.Add(HashId(ids[k])) < call.admit_after) continue;
      if (admitted.size() == most_ids) continue;
      admitted.insert(ids[k]);
    }
    kept.push_back(k);
  }
  return kept;
}

// Rows for `wanted` new ids, or for fewer, in the order in which they are given away.
std::vector<int64_t> RowsForSync(Context& ctx, GrowingRows* rows, int64_t wanted,
                                 const GrowingCall& call) {
  std::vector<int64_t> given;
  const auto missing = [&] { return wanted - static_cast<int64_t>(given.size()); };
  const auto reuse = [&] {
    for (; missing() > 0 && !call.free.empty(); call.free.pop_back()) {
      given.push_back(call.free.back());
      call.reused.push_back(call.free.back());
    }
  };
  reuse();
  for (; missing() > 0 && call.num_rows < call.max_rows; ++call.num_rows) {
    given.push_back(call.num_rows);
    call.added.push_back(call.num_rows);
  }
  if (missing() == 0) return given;
  const std::vector<int64_t> freed = EvictSync(ctx, rows, call, missing());
  call.free.assign(freed.rbegin(), freed.rend());
  reuse();
  return given;
}

// Gives rows to ids. Returns how many ids got one, and how many asked.
std::pair<int64_t, int64_t> GiveRowsSync(Context& ctx, GrowingRows* rows, const Missing& missing,
                                         const Tensor& found, const GrowingCall& call) {
  const int64_t n = missing.ids.numel();
  const SortedIdRuns distinct(ctx, missing.ids);
  const int64_t count = distinct.CountSync(ctx);
  const IdRuns runs = distinct.runs();
  const Tensor given = Tensor::From(ctx, RowsForSync(ctx, rows, count, call)),
               ranks = Tensor::Zeros(ctx, {n}, DType::kI32);
  const auto* ids = missing.ids.data<int64_t>();
  auto* rank = ranks.data<int32_t>();
  ForEach(ctx, count, MarkFirst{runs, rank});
  ExclusiveSum(ctx, rank, rank, n);
  const RowColumns columns(*rows);
  ForEach(ctx, count,
          GiveRow{columns, runs, ids, given.data<int64_t>(), rank, given.numel(), call.now});
  ForEach(ctx, n, FindAgain{columns, ids, missing.places.data<int32_t>(), found.data<int64_t>()});
  return {given.numel(), count};
}

// The sketch is asked on the host, id by id as they came. It is first asked as if there were rows
// for all ids; if there are not, ids without one are counted each time they come.
void AdmitAndGiveSync(Context& ctx, GrowingRows* rows, const Missing& missing, const Tensor& found,
                      const GrowingCall& call) {
  const auto ids = missing.ids.ToVector<int64_t>();
  const auto places = missing.places.ToVector<int32_t>();
  // With fewer ids than that, a call can always free enough rows.
  std::optional<FrequencySketch> before;
  if (2 * found.numel() >= call.max_rows) before = call.sketch;
  std::vector<int64_t> kept_ids;
  std::vector<int32_t> kept_places;
  for (const size_t k : Admit(ids, ids.size(), call)) {
    kept_ids.push_back(ids[k]);
    kept_places.push_back(places[k]);
  }
  if (kept_ids.empty()) return;
  const auto [given, wanted] = GiveRowsSync(
      ctx, rows, {Tensor::From(ctx, kept_places), Tensor::From(ctx, kept_ids)}, found, call);
  if (given == wanted || !before) return;
  call.sketch = *before;
  Admit(ids, static_cast<size_t>(given), call);
}

}  // namespace

Tensor InsertGrowingSync(OnCuda, Context& ctx, GrowingRows* rows, const Tensor& ids,
                         const GrowingCall& call) {
  const int64_t n = ids.numel();
  TESSERA_CHECK(n < int64_t{1} << 31, "growing index: {} ids: a device numbers them with 31 bits",
                n);
  Tensor found = Tensor::Empty(ctx, {n}, DType::kI64);
  const Tensor flags = Tensor::Empty(ctx, {n}, DType::kU8),
               places = Tensor::Empty(ctx, {n}, DType::kI32),
               count = Tensor::Zeros(ctx, {1}, DType::kI32);
  auto* flag = flags.data<uint8_t>();
  ForEach(ctx, n, Touch{RowColumns(*rows), ArrayOf(ids), call.now, found.data<int64_t>(), flag});
  SelectFlagged(ctx, flag, n, places.data<int32_t>(), count.data<int32_t>());
  const int64_t num_missing = ReadScalarSync(ctx, count.data<int32_t>());
  const Missing missing = {places.Rows(0, num_missing),
                           Tensor::Empty(ctx, {num_missing}, DType::kI64)};
  ForEach(ctx, num_missing,
          TakeIds{ArrayOf(ids), missing.places.data<int32_t>(), missing.ids.data<int64_t>()});
  if (call.admit_after > 1)
    AdmitAndGiveSync(ctx, rows, missing, found, call);
  else if (num_missing > 0)
    GiveRowsSync(ctx, rows, missing, found, call);
  return found;
}

}  // namespace tessera::internal
