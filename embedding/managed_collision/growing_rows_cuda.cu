// The rows of a growing index on a GPU: made, found, and given up by their scores.
#include <bit>

#include "embedding/managed_collision/growing_rows_cuda.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

struct FindRow {
  RowColumns columns;
  IndexArray ids;
  int64_t* rows;
  TESSERA_HD void operator()(int64_t i) const { rows[i] = columns.Find(ids[i]); }
};

struct EnterRow {
  RowColumns columns;
  __device__ void operator()(int64_t row) const {
    if (columns.counts[row] > 0) columns.Enter(static_cast<uint32_t>(row));
  }
};

struct EraseRow {
  RowColumns columns;
  const int64_t* rows;
  TESSERA_HD void operator()(int64_t i) const { columns.Erase(static_cast<uint32_t>(rows[i])); }
};

struct VictimsArgs {
  RowColumns columns;
  GrowingScore score;
  int64_t hand, num_rows, window;
  int64_t* victims;  // kEvictionWindow / kSeenAVictim a window
  int32_t* counts;   // how many of them there are
};

// A block takes a window: each thread counts the rows that are to be freed before its own.
__global__ void __launch_bounds__(kEvictionWindow)
    VictimsKernel(const __grid_constant__ VictimsArgs a) {
  __shared__ double scores[kEvictionWindow];
  __shared__ uint32_t rows[kEvictionWindow];
  const auto self = static_cast<int64_t>(threadIdx.x), block = static_cast<int64_t>(blockIdx.x);
  const int64_t row = (a.hand + block * a.window + self) % a.num_rows;
  const bool wanted =
      self < a.window && a.columns.counts[row] > 0 && a.columns.last[row] < a.score.now;
  const double score = wanted ? a.score.Of(a.columns.last[row], a.columns.counts[row]) : 0;
  scores[self] = score;
  rows[self] = wanted ? static_cast<uint32_t>(row) : RowColumns::kEmpty;
  const int seen = __syncthreads_count(wanted);
  const int64_t freed = (seen + kSeenAVictim - 1) / kSeenAVictim;
  if (self == 0) a.counts[block] = static_cast<int32_t>(freed);
  if (!wanted) return;
  int64_t before = 0;
  for (int64_t j = 0; j < a.window; ++j)
    before += rows[j] != RowColumns::kEmpty &&
              (scores[j] < score || (scores[j] == score && rows[j] < static_cast<uint32_t>(row)));
  if (before < freed) a.victims[block * (kEvictionWindow / kSeenAVictim) + before] = row;
}

struct Victims {
  std::vector<int64_t> rows;
  std::vector<int32_t> counts;
};

Victims VictimsSync(Context& ctx, const GrowingRows& rows, const GrowingCall& call, int64_t window,
                    int64_t windows) {
  const Tensor victims =
                   Tensor::Empty(ctx, {windows * kEvictionWindow / kSeenAVictim}, DType::kI64),
               counts = Tensor::Empty(ctx, {windows}, DType::kI32);
  Launch(ctx, VictimsKernel, dim3(static_cast<unsigned>(windows)), dim3(kEvictionWindow), 0,
         VictimsArgs{RowColumns(rows),
                     {call.score, call.now},
                     call.hand,
                     call.num_rows,
                     window,
                     victims.data<int64_t>(),
                     counts.data<int32_t>()});
  return {victims.ToVector<int64_t>(), counts.ToVector<int32_t>()};
}

void Erase(Context& ctx, GrowingRows* rows, const std::vector<int64_t>& victims, int64_t num_rows) {
  const Tensor erased = Tensor::From(ctx, victims);
  ForEach(ctx, erased.numel(), EraseRow{RowColumns(*rows), erased.data<int64_t>()});
  rows->erased += erased.numel();
  if (rows->erased > rows->slots.numel() / 4) EnterAnew(ctx, rows, num_rows);
}

}  // namespace

GrowingRows MakeGrowingRows(OnCuda, Context& ctx, int64_t max_rows, const Tensor& ids,
                            const Tensor& last, const Tensor& counts) {
  const int64_t used = ids.numel();
  const auto column = [&](const Tensor& from) {
    const Tensor all = Tensor::Empty(ctx, {max_rows}, DType::kI64);
    all.Rows(0, used).CopyFrom(ctx, from);
    return all;
  };
  const auto slots = static_cast<int64_t>(std::bit_ceil(2 * static_cast<uint64_t>(max_rows)));
  GrowingRows rows = {column(ids), column(last), column(counts),
                      Tensor::Empty(ctx, {slots}, DType::kI32)};
  rows.counts.Rows(used, max_rows).Fill(ctx, 0);  // nobody owns these rows
  EnterAnew(ctx, &rows, used);
  return rows;
}

void EnterAnew(Context& ctx, GrowingRows* rows, int64_t num_rows) {
  rows->slots.Fill(ctx, -1);
  rows->erased = 0;
  ForEach(ctx, num_rows, EnterRow{RowColumns(*rows)});
}

Tensor FindGrowing(OnCuda, Context& ctx, const GrowingRows& rows, const Tensor& ids) {
  Tensor found = Tensor::Empty(ctx, {ids.numel()}, DType::kI64);
  ForEach(ctx, ids.numel(), FindRow{RowColumns(rows), ArrayOf(ids), found.data<int64_t>()});
  return found;
}

void PlaceBehindShared(OnCuda, Context& ctx, const Tensor& ids, int64_t shared,
                       const Tensor& rows) {
  ForEach(ctx, rows.numel(), PlaceBehindSharedRows{ArrayOf(ids), shared, rows.data<int64_t>()});
}

// Looks at many windows at a time, from where nothing was freed on; windows behind the last one
// that was needed are forgotten.
std::vector<int64_t> EvictSync(Context& ctx, GrowingRows* rows, const GrowingCall& call,
                               int64_t need) {
  constexpr int64_t kMax = kEvictionWindow / kSeenAVictim, kAhead = 64;
  const int64_t window = std::min(kEvictionWindow, call.num_rows),
                around = std::max<int64_t>(1, call.num_rows / window),
                all_are_named = (call.num_rows + kEvictionWindow - 1) / kEvictionWindow;
  std::vector<int64_t> freed;
  const auto missing = [&] { return need - static_cast<int64_t>(freed.size()); };
  int64_t fruitless = 0;  // windows, the last ones
  while (missing() > 0 && call.looked_at < call.may_look_until) {
    const int64_t allowed = (call.may_look_until - call.looked_at + window - 1) / window;
    const int64_t windows = std::min({around, allowed, missing() / kMax + kAhead});
    const Victims victims = VictimsSync(ctx, *rows, call, window, windows);
    std::vector<int64_t> now;
    for (int64_t w = 0; w < windows && missing() > 0 && fruitless < all_are_named; ++w) {
      const int64_t count = victims.counts[static_cast<size_t>(w)];
      const auto first = victims.rows.begin() + w * kMax;
      now.insert(now.end(), first, first + count);
      freed.insert(freed.end(), first, first + count);
      fruitless = count == 0 ? fruitless + 1 : 0;
      call.looked_at += window;
      call.hand = (call.hand + window) % call.num_rows;
    }
    if (fruitless == all_are_named) call.may_look_until = call.looked_at;
    Erase(ctx, rows, now, call.num_rows);
  }
  return freed;
}

}  // namespace tessera::internal
