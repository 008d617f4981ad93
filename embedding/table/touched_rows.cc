#include "embedding/table/touched_rows.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "embedding/table/touched_rows_impl.h"
#include "runtime/device/dispatch.h"
#include "runtime/for_each.h"
#include "runtime/virtual_memory.h"

namespace tessera {
namespace internal {
namespace {

struct SharedWord {
  static int32_t Load(const int32_t* p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
  static void Store(int32_t* p, int32_t value) { __atomic_store_n(p, value, __ATOMIC_RELAXED); }
};

constexpr int64_t kRowsOfPiece = 1 << 16;

}  // namespace

void MarkBags(OnCpu on, Context& ctx, const TouchedBags& bags, const Marks& to) {
  const int64_t ids_of_bag = 1 + bags.num_ids / std::max<int64_t>(bags.num_bags, 1);
  ForEach(on, ctx, bags.num_bags, 1 + (1 << 12) / ids_of_bag, MarkBag<SharedWord>{bags, to});
}

Tensor MarkedSince(OnCpu, Context& ctx, const Tensor& marks, int64_t rows, int32_t since) {
  const int32_t* const mark = marks.data<int32_t>();
  const int64_t pieces = (rows + kRowsOfPiece - 1) / kRowsOfPiece;
  std::vector<int64_t> begins(static_cast<size_t>(pieces) + 1, 0);
  const auto end_of = [&](int64_t p) { return std::min((p + 1) * kRowsOfPiece, rows); };
  ParallelFor(ctx, pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p)
      begins[static_cast<size_t>(p) + 1] = std::count_if(mark + p * kRowsOfPiece, mark + end_of(p),
                                                         [&](int32_t m) { return m > since; });
  });
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  Tensor touched = Tensor::Empty(ctx, {begins.back()}, DType::kI64);
  ParallelFor(ctx, pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      int64_t* out = touched.data<int64_t>() + begins[static_cast<size_t>(p)];
      for (int64_t row = p * kRowsOfPiece; row < end_of(p); ++row)
        if (mark[row] > since) *out++ = row;
    }
  });
  return touched;
}

}  // namespace internal

namespace {

Tensor AllRows(Context& ctx, int64_t rows) {
  std::vector<int64_t> all(static_cast<size_t>(rows));
  std::iota(all.begin(), all.end(), int64_t{0});
  return Tensor::From(ctx, all);
}

}  // namespace

TouchedRows::TouchedRows(Context& ctx, int64_t rows)
    : marks_(ctx.device() == Device::Cpu() ? EmptyInVirtualMemory({rows}, DType::kI32)
                                           : Tensor::Zeros(ctx, {rows}, DType::kI32)),
      rows_(rows) {}

void TouchedRows::TouchUpdated(Context& ctx, const LookupArgs& lookup, const UpdateTable& table) {
  if (all_ == time_) return;
  for (const int f : table.features) {
    const LookupFeature& feature = lookup.features[static_cast<size_t>(f)];
    const internal::TouchedBags bags = {feature.ids,           lookup.offsets, feature.first_bag,
                                        feature.num_bags,      lookup.num_ids, table.num_rows,
                                        table.rounding.row_ids};
    DispatchDevice(ctx.device(), [&](auto on) {
      internal::MarkBags(on, ctx, bags, {marks_.data<int32_t>(), rows_, time_});
    });
  }
}

void TouchedRows::Touch(Context& ctx, const Tensor& given) {
  VisitIndexType(given.dtype(), "ids of touched rows", []<typename>() {});
  const Tensor ids = given.To(ctx, ctx.device()).Contiguous(ctx);
  const internal::TouchedBags bags = {{ids.raw_data(), ids.dtype() == DType::kI64},
                                      {},
                                      0,
                                      ids.numel(),
                                      ids.numel(),
                                      rows_,
                                      nullptr};
  DispatchDevice(ctx.device(), [&](auto on) {
    internal::MarkBags(on, ctx, bags, {marks_.data<int32_t>(), rows_, time_});
  });
}

void TouchedRows::Grow(Context& ctx, int64_t rows) {
  TESSERA_CHECK_GE(rows, rows_, "touched rows: rows of a table that has grown");
  if (rows == rows_) return;
  if (rows > marks_.numel()) {
    const Tensor more = Tensor::Zeros(ctx, {std::max(rows, rows_ + rows_ / 2)}, DType::kI32);
    more.Rows(0, rows_).CopyFrom(ctx, marks_.Rows(0, rows_));
    marks_ = more;
  }
  marks_.Rows(rows_, rows).CopyFrom(ctx, Tensor::Full(ctx, {rows - rows_}, time_, DType::kI32));
  rows_ = rows;
}

int32_t TouchedRows::EndTime() {
  TESSERA_CHECK(time_ < std::numeric_limits<int32_t>::max(), "touched rows: read {} times", time_);
  return time_++;
}

Tensor TouchedRows::SinceSync(Context& ctx, int32_t since) const {
  if (all_ > since) return AllRows(ctx, rows_);
  return DispatchDevice(
      ctx.device(), [&](auto on) { return internal::MarkedSince(on, ctx, marks_, rows_, since); });
}

}  // namespace tessera
