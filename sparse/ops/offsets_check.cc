#include "sparse/ops/offsets_check.h"

#include <algorithm>
#include <limits>

#include "runtime/device/dispatch.h"
#include "sparse/ops/offsets_check_impl.h"
#include "sparse/ops/sum_lengths.h"

namespace tessera {
namespace {

void CheckIndexTensor(const Tensor& t, const char* what, const char* part) {
  TESSERA_CHECK(t.dtype() == DType::kI32 || t.dtype() == DType::kI64,
                "{}: {} are {}, expected i32 or i64", what, part, t.dtype());
  TESSERA_CHECK(t.rank() == 1 && t.is_contiguous(), "{}: {} {}: expected one contiguous dimension",
                what, part, t.shape());
}

// The beginning of an error: "KeyedJaggedTensor: key "a": ".
std::string Prefix(const OffsetsCheckArgs& args, size_t group) {
  const std::string name = args.name(static_cast<int64_t>(group));
  return std::string(args.what) + ": " + (name.empty() ? "" : name + ": ");
}

// Throws for totals that are not the number of values: says where they exceed it.
[[noreturn]] void FailTotal(const OffsetsCheckArgs& args, const std::vector<int64_t>& totals,
                            int64_t total) {
  const char* part = args.offsets.defined() ? "the last offset" : "the sum of lengths";
  int64_t end = 0;
  for (size_t g = 0; g < totals.size(); ++g)
    if ((end += totals[g]) > args.values)
      TESSERA_FAIL("{}{} is {}, and there are {} values: bags end at {}", Prefix(args, g), part,
                   total, args.values, end);
  TESSERA_FAIL("{}: {} is {}, and there are {} values", args.what, part, total, args.values);
}

template <typename T>
std::vector<int64_t> LengthTotals(const OffsetsCheckArgs& args) {
  const T* lengths = args.lengths.data<T>();
  std::vector<int64_t> totals(args.group_offsets.size() - 1);
  for (size_t g = 0; g < totals.size(); ++g) {
    const int64_t begin = args.group_offsets[g], end = args.group_offsets[g + 1];
    T signs = 0;
    totals[g] = internal::SumLengths(lengths, begin, end, &signs);
    // No length is above all of them or-ed together, so that these sums cannot wrap around.
    if (signs >= 0 && static_cast<int64_t>(signs) <= args.values) continue;
    const T* bad = std::find_if(lengths + begin, lengths + end,
                                [&](T x) { return signs < 0 ? x < 0 : x > args.values; });
    if (bad == lengths + end) continue;  // the total is wrong
    TESSERA_FAIL("{}bag {} has length {}, and there are {} values", Prefix(args, g),
                 bad - lengths - begin, *bad, args.values);
  }
  return totals;
}

template <typename T>
std::vector<int64_t> OffsetTotals(const OffsetsCheckArgs& args) {
  const T* offsets = args.offsets.data<T>();
  std::vector<int64_t> totals(args.group_offsets.size() - 1);
  TESSERA_CHECK_EQ(offsets[0], 0, "{}: the first offset", args.what);
  for (size_t g = 0; g < totals.size(); ++g) {
    const int64_t begin = args.group_offsets[g], end = args.group_offsets[g + 1];
    for (int64_t i = begin; i < end; ++i)
      TESSERA_CHECK_LE(offsets[i], offsets[i + 1], "{}offsets fall at bag {}", Prefix(args, g),
                       i - begin);
    totals[g] = static_cast<int64_t>(offsets[end]) - offsets[begin];
  }
  return totals;
}

template <typename T, typename U>
void CheckAgree(const OffsetsCheckArgs& args, const T* lengths, const U* offsets) {
  for (size_t g = 0; g + 1 < args.group_offsets.size(); ++g)
    for (int64_t i = args.group_offsets[g]; i < args.group_offsets[g + 1]; ++i)
      TESSERA_CHECK_EQ(
          static_cast<int64_t>(lengths[i]), static_cast<int64_t>(offsets[i + 1]) - offsets[i],
          "{}bag {}: lengths and offsets disagree", Prefix(args, g), i - args.group_offsets[g]);
}

void CheckAgree(const OffsetsCheckArgs& args) {
  VisitIndexType(args.lengths.dtype(), "lengths", [&]<typename T>() {
    VisitIndexType(args.offsets.dtype(), "offsets", [&]<typename U>() {
      CheckAgree(args, args.lengths.data<T>(), args.offsets.data<U>());
    });
  });
}

std::vector<int64_t> Totals(const OffsetsCheckArgs& args) {
  const bool by_offsets = args.offsets.defined();
  return VisitIndexType(
      (by_offsets ? args.offsets : args.lengths).dtype(), "lengths",
      [&]<typename T>() { return by_offsets ? OffsetTotals<T>(args) : LengthTotals<T>(args); });
}

}  // namespace

std::vector<int64_t> CheckedTotals(const OffsetsCheckArgs& args) {
  std::vector<int64_t> totals = Totals(args);
  int64_t total = 0;
  for (int64_t t : totals) total += t;
  if (total != args.values) FailTotal(args, totals, total);
  const DType dtype = (args.offsets.defined() ? args.offsets : args.lengths).dtype();
  TESSERA_CHECK(dtype == DType::kI64 || total <= std::numeric_limits<int32_t>::max(),
                "{}: {} values need i64 lengths", args.what, total);
  if (args.offsets.defined() && args.lengths.defined()) CheckAgree(args);
  return totals;
}

std::vector<int64_t> CheckedTotalsSync(Context& ctx, const OffsetsCheckArgs& args) {
  CheckDevice(ctx, args.what, args.lengths, args.offsets);
  return DispatchDevice(ctx.device(),
                        [&](auto on) { return internal::CheckedTotals(on, ctx, args); });
}

std::vector<int64_t> internal::CheckedTotals(OnCpu, Context&, const OffsetsCheckArgs& args) {
  return tessera::CheckedTotals(args);
}

int64_t CheckedBags(const Tensor& lengths, const Tensor& offsets, const char* what) {
  TESSERA_CHECK(lengths.defined() || offsets.defined(), "{}: neither lengths nor offsets", what);
  if (lengths.defined()) CheckIndexTensor(lengths, what, "lengths");
  if (!offsets.defined()) return lengths.dim(0);
  CheckIndexTensor(offsets, what, "offsets");
  TESSERA_CHECK_GE(offsets.dim(0), 1, "{}: offsets are empty: even no bags have the offset 0",
                   what);
  if (lengths.defined())
    TESSERA_CHECK_EQ(offsets.dim(0), lengths.dim(0) + 1, "{}: offsets, one more than lengths",
                     what);
  return offsets.dim(0) - 1;
}

}  // namespace tessera
