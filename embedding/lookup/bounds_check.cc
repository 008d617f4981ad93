#include "embedding/lookup/bounds_check.h"

#include <algorithm>

#include "embedding/lookup/bounds_check_impl.h"
#include "embedding/lookup/index_array.h"
#include "runtime/device/dispatch.h"
#include "runtime/device/scratch_pool.h"
#include "runtime/recorded_step.h"

namespace tessera {
namespace internal {

void FailOnLastOffset(int64_t offset, int64_t ids, int64_t findings) {
  TESSERA_FAIL("the last offset is {}, but there are {} ids ({} findings in all)", offset, ids,
               findings);
}
void FailOnOffsets(int64_t bag, int64_t start, int64_t end, int64_t ids, int64_t findings) {
  TESSERA_FAIL("bag {}: offsets {} to {}, of {} ids ({} findings in all)", bag, start, end, ids,
               findings);
}
void FailOnId(int64_t bag, int64_t batch, int64_t id, int64_t place, int64_t rows,
              int64_t findings) {
  TESSERA_FAIL(
      "feature {}, example {}: id {} at position {}, but the table has {} rows ({} findings in "
      "all)",
      bag / batch, bag % batch, id, place, rows, findings);
}

}  // namespace internal

namespace {

using internal::CheckedSpan;

bool Overlap(std::span<const CheckedSpan> spans) {
  ScratchVector<CheckedSpan> sorted(spans.begin(), spans.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const CheckedSpan& a, const CheckedSpan& b) { return a.begin < b.begin; });
  for (size_t f = 1; f < sorted.size(); ++f)
    if (sorted[f].begin < sorted[f - 1].begin + sorted[f - 1].count) return true;
  return false;
}

int64_t* EntryOf(const BoundsCheckLog& log, size_t feature) {
  return log.defined()
             ? log.entries().data<int64_t>() + static_cast<int64_t>(feature) * internal::kLogEntry
             : nullptr;
}

void CheckLog(const Context& ctx, const BoundsCheckLog& log, size_t features) {
  if (!log.defined()) return;
  TESSERA_CHECK_EQ(log.features().size(), features, "entries of the bounds check's log");
  CheckDevice(ctx, "bounds check", log.entries());
}

void KeepExamples(Context& ctx, const Tensor& ids, const Tensor& offsets,
                  std::span<const CheckedSpan> spans) {
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::KeepExamples(on, ctx, ids, ArrayOf(offsets), spans); });
}

// The features that are checked in one mode; features in another mode have no ids here.
struct InMode {
  BoundsCheckMode mode, of_call;
  bool Has(const CheckedIds& feature) const { return feature.mode.value_or(of_call) == mode; }
};

ScratchVector<CheckedSpan> SpansOf(std::span<const CheckedIds> features, const InMode& in,
                                   const BoundsCheckLog& log) {
  ScratchVector<CheckedSpan> spans;
  spans.reserve(features.size());
  for (const CheckedIds& f : features) {
    const size_t number = spans.size();
    spans.push_back({in.Has(f) ? f.end - f.begin : 0, f.begin, f.rows, f.first_bag, f.num_bags,
                     static_cast<int64_t>(number), EntryOf(log, number)});
  }
  return spans;
}

// The spans of a whole batch, whose offsets are mended already. Waits for the device.
ScratchVector<CheckedSpan> SpansOf(const Tensor& offsets, std::span<const int64_t> rows,
                                   const BoundsCheckLog& log) {
  const Tensor host = offsets.ToHost();
  const IndexArray o = ArrayOf(host);
  const int64_t batch =
      rows.empty() ? 0 : (offsets.numel() - 1) / static_cast<int64_t>(rows.size());
  ScratchVector<CheckedSpan> spans;
  for (size_t f = 0; f < rows.size(); ++f) {
    const auto number = static_cast<int64_t>(f);
    const int64_t begin = o[number * batch], end = o[(number + 1) * batch];
    spans.push_back({end - begin, begin, rows[f], number * batch, batch, number, EntryOf(log, f)});
  }
  return spans;
}

[[noreturn]] void FailOn(const internal::FirstIllegal& bad, const CheckedIds& feature,
                         const CheckedSpan& span, const Tensor& offsets) {
  const Tensor host = offsets.ToHost();
  TESSERA_FAIL(
      "feature {}: id {} at position {} of the batch's ids, but its table has {} rows (in bag {}; "
      "bad ids of the feature: {})",
      feature.feature, bad.id, bad.place, feature.rows,
      internal::BagOf(span, ArrayOf(host), bad.place), bad.count);
}

// Mends the ids of each span that has some; spans without ids get no tensor.
void Mend(Context& ctx, const Tensor& ids, std::span<const CheckedSpan> spans,
          std::vector<Tensor>& result) {
  const auto mend = [&](std::span<const CheckedSpan> some) {
    const Tensor mended = ids.Clone(ctx);
    DispatchDevice(ctx.device(), [&](auto on) { internal::MendIds(on, ctx, some, mended); });
    return mended;
  };
  // An id that is illegal for one table may name a row of another.
  const bool apart = Overlap(spans);
  const Tensor all = apart ? Tensor() : mend(spans);
  for (size_t f = 0; f < spans.size(); ++f)
    if (spans[f].count > 0) result[f] = apart ? mend(spans.subspan(f, 1)) : all;
}

void CheckCanThrow(const Context& ctx) {
  CheckIsNotRecording(ctx, "a bounds check in mode FATAL",
                      "the host waits for what it finds; mode WARNING counts without waiting");
}

// Checks the ids of all features that have one mode.
void CheckIdsIn(Context& ctx, const InMode& in, const Tensor& ids, const Tensor& offsets,
                std::span<const CheckedIds> features, const BoundsCheckLog& log,
                std::vector<Tensor>& result) {
  const bool fatal = in.mode == BoundsCheckMode::kFatal;
  if (fatal) CheckCanThrow(ctx);
  const BoundsCheckLog counted = in.mode == BoundsCheckMode::kWarning ? log : BoundsCheckLog();
  const ScratchVector<CheckedSpan> spans = SpansOf(features, in, counted);
  // The host looks first: there is seldom anything to mend. A GPU mends without being waited for.
  if (fatal || ctx.device() == Device::Cpu()) {
    const internal::FirstIllegal bad = DispatchDevice(
        ctx.device(), [&](auto on) { return internal::FindIllegalId(on, ctx, ids, spans); });
    if (bad.feature < 0) return;
    const auto f = static_cast<size_t>(bad.feature);
    if (fatal) FailOn(bad, features[f], spans[f], offsets);
  }
  Mend(ctx, ids, spans, result);
  if (counted.defined()) KeepExamples(ctx, ids, offsets, spans);
}

}  // namespace

BoundsCheckResult CheckBounds(Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                              const Tensor& offsets, std::span<const int64_t> rows,
                              const BoundsCheckLog& log) {
  if (mode == BoundsCheckMode::kNone) return {ids, offsets};
  CheckDevice(ctx, "bounds check", ids, offsets);
  const int64_t features = static_cast<int64_t>(rows.size());
  TESSERA_CHECK(offsets.numel() >= 1 &&
                    (features == 0 ? offsets.numel() == 1 : (offsets.numel() - 1) % features == 0),
                "bounds check: {} offsets for {} features: expected features x examples + 1",
                offsets.numel(), features);
  CheckLog(ctx, log, rows.size());
  if (mode == BoundsCheckMode::kFatal) CheckCanThrow(ctx);
  const BoundsCheckLog counted = mode == BoundsCheckMode::kWarning ? log : BoundsCheckLog();
  BoundsCheckResult result = DispatchDevice(ctx.device(), [&](auto on) {
    return internal::CheckBounds(on, ctx, mode, ids, offsets, rows, counted);
  });
  if (counted.defined() && result.warnings > 0)
    KeepExamples(ctx, ids, result.offsets, SpansOf(result.offsets, rows, counted));
  return result;
}

std::vector<Tensor> CheckIds(Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                             const Tensor& offsets, std::span<const CheckedIds> features,
                             const BoundsCheckLog& log) {
  std::vector<Tensor> result(features.size(), ids);
  bool checked = false;
  for (const BoundsCheckMode each :
       {BoundsCheckMode::kFatal, BoundsCheckMode::kWarning, BoundsCheckMode::kIgnore}) {
    const InMode in{each, mode};
    if (std::none_of(features.begin(), features.end(),
                     [&](const CheckedIds& f) { return in.Has(f); }))
      continue;
    if (!checked) {
      CheckDevice(ctx, "bounds check", ids, offsets);
      CheckLog(ctx, log, features.size());
      checked = true;
    }
    CheckIdsIn(ctx, in, ids, offsets, features, log, result);
  }
  return result;
}

}  // namespace tessera
