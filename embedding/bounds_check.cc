#include "embedding/bounds_check.h"

#include <algorithm>
#include <atomic>

#include "embedding/bounds_check_impl.h"
#include "runtime/dispatch.h"

namespace tessera {
namespace internal {

void FailOnLastOffset(int64_t offset, int64_t ids) {
  TESSERA_FAIL("the last offset is {}, but there are {} ids", offset, ids);
}
void FailOnOffsets(int64_t bag, int64_t start, int64_t end, int64_t ids) {
  TESSERA_FAIL("bag {}: offsets {} to {}, of {} ids", bag, start, end, ids);
}
void FailOnId(int64_t bag, int64_t batch, int64_t id, int64_t place, int64_t rows) {
  TESSERA_FAIL("feature {}, example {}: id {} at position {}, but the table has {} rows",
               bag / batch, bag % batch, id, place, rows);
}

namespace {

constexpr int64_t kGrain = 1 << 15;

template <typename Id>
bool AllLegal(Context& ctx, const Id* ids, int64_t n, int64_t rows) {
  std::atomic<bool> legal = true;
  ParallelFor(ctx, n, kGrain, [&](int64_t begin, int64_t end) {
    bool here = true;  // no early exit: the loop runs as vectors
    for (int64_t i = begin; i < end; ++i) here &= IsLegalId(ids[i], rows);
    if (!here) legal.store(false, std::memory_order_relaxed);
  });
  return legal.load();
}

// The sequential walk of the header, on copies.
template <typename Id, typename Offset>
class Mender {
 public:
  Mender(BoundsCheckMode mode, std::span<Id> ids, std::span<Offset> offsets)
      : fatal_(mode == BoundsCheckMode::kFatal), ids_(ids), offsets_(offsets) {}

  int64_t Mend(std::span<const int64_t> rows) {
    const auto n = static_cast<int64_t>(ids_.size());
    const int64_t batch =
        rows.empty() ? 0 : static_cast<int64_t>((offsets_.size() - 1) / rows.size());
    if (static_cast<int64_t>(offsets_.back()) != n) {
      if (fatal_) FailOnLastOffset(offsets_.back(), n);
      ++findings_;
      offsets_.back() = static_cast<Offset>(n);
    }
    for (int64_t bag = 0; bag + 1 < static_cast<int64_t>(offsets_.size()); ++bag) {
      MendOffsets(bag, n);
      MendIds(bag, batch, rows[static_cast<size_t>(bag / batch)]);
    }
    return findings_;
  }

 private:
  void MendOffsets(int64_t bag, int64_t n) {
    Offset* o = offsets_.data() + bag;
    const int64_t start = o[0], end = o[1];
    if (0 <= start && start <= end && end <= n) return;
    if (fatal_) FailOnOffsets(bag, start, end, n);
    ++findings_;
    o[0] = static_cast<Offset>(std::clamp<int64_t>(start, 0, n));
    o[1] = static_cast<Offset>(std::clamp<int64_t>(end, o[0], n));
  }

  void MendIds(int64_t bag, int64_t batch, int64_t rows) {
    const Offset* o = offsets_.data() + bag;
    for (int64_t i = o[0]; i < o[1]; ++i) {
      Id& id = ids_[static_cast<size_t>(i)];
      if (IsLegalId(id, rows)) continue;
      if (fatal_) FailOnId(bag, batch, id, i, rows);
      ++findings_;
      id = 0;
    }
  }

  bool fatal_;
  std::span<Id> ids_;
  std::span<Offset> offsets_;
  int64_t findings_ = 0;
};

template <typename Id, typename Offset>
bool NothingToFind(Context& ctx, std::span<const Id> ids, std::span<const Offset> offsets,
                   std::span<const int64_t> rows) {
  const auto n = static_cast<int64_t>(ids.size());
  if (static_cast<int64_t>(offsets.back()) != n || offsets.front() < 0) return false;
  if (!std::is_sorted(offsets.begin(), offsets.end())) return false;
  const size_t batch = rows.empty() ? 0 : (offsets.size() - 1) / rows.size();
  for (size_t f = 0; f < rows.size(); ++f) {
    const int64_t begin = offsets[f * batch], end = offsets[(f + 1) * batch];
    if (!AllLegal(ctx, ids.data() + begin, end - begin, rows[f])) return false;
  }
  return true;
}

bool Overlap(std::span<const CheckedIds> features) {
  std::vector<CheckedIds> sorted(features.begin(), features.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const CheckedIds& a, const CheckedIds& b) { return a.begin < b.begin; });
  for (size_t f = 1; f < sorted.size(); ++f)
    if (sorted[f].begin < sorted[f - 1].end) return true;
  return false;
}

}  // namespace

BoundsCheckResult CheckBounds(OnCpu, Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                              const Tensor& offsets, std::span<const int64_t> rows) {
  BoundsCheckResult result{ids, offsets};
  VisitIndexType(ids.dtype(), "ids", [&]<typename Id>() {
    VisitIndexType(offsets.dtype(), "offsets", [&]<typename Offset>() {
      if (NothingToFind<Id, Offset>(ctx, ids.span<Id>(), offsets.span<Offset>(), rows)) return;
      result.ids = ids.Clone(ctx);
      result.offsets = offsets.Clone(ctx);
      const int64_t findings =
          Mender<Id, Offset>(mode, result.ids.span<Id>(), result.offsets.span<Offset>()).Mend(rows);
      if (mode == BoundsCheckMode::kWarning) result.warnings = findings;
    });
  });
  return result;
}

FirstIllegal FindIllegalId(OnCpu, Context& ctx, const Tensor& ids,
                           std::span<const CheckedIds> features) {
  FirstIllegal found;
  VisitIndexType(ids.dtype(), "ids", [&]<typename Id>() {
    const Id* data = ids.data<Id>();
    for (size_t f = 0; f < features.size() && found.feature < 0; ++f) {
      const CheckedIds& c = features[f];
      if (AllLegal(ctx, data + c.begin, c.end - c.begin, c.rows)) continue;
      int64_t i = c.begin;
      while (IsLegalId(data[i], c.rows)) ++i;
      found = {static_cast<int64_t>(f), i, data[i]};
    }
  });
  return found;
}

void MendIds(OnCpu, Context&, const Tensor& ids, std::span<const CheckedIds> features,
             const Tensor& mended, const Tensor& warnings) {
  VisitIndexType(ids.dtype(), "ids", [&]<typename Id>() {
    Id* data = mended.data<Id>();
    for (const CheckedIds& c : features)
      for (int64_t i = c.begin; i < c.end; ++i) {
        if (IsLegalId(data[i], c.rows)) continue;
        data[i] = 0;
        ++*warnings.data<int64_t>();
      }
  });
}

}  // namespace internal

BoundsCheckResult CheckBounds(Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                              const Tensor& offsets, std::span<const int64_t> rows) {
  if (mode == BoundsCheckMode::kNone) return {ids, offsets};
  CheckDevice(ctx, "bounds check", ids, offsets);
  const int64_t features = static_cast<int64_t>(rows.size());
  TESSERA_CHECK(offsets.numel() >= 1 &&
                    (features == 0 ? offsets.numel() == 1 : (offsets.numel() - 1) % features == 0),
                "bounds check: {} offsets for {} features: expected features x examples + 1",
                offsets.numel(), features);
  return DispatchDevice(ctx.device(), [&](auto on) {
    return internal::CheckBounds(on, ctx, mode, ids, offsets, rows);
  });
}

std::vector<Tensor> CheckIds(Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                             std::span<const CheckedIds> features, const Tensor& warnings) {
  std::vector<Tensor> result(features.size(), ids);
  if (mode == BoundsCheckMode::kNone) return result;
  CheckDevice(ctx, "bounds check", ids, warnings);
  // The host looks first: there is seldom anything to mend. A GPU mends without being waited for.
  if (mode == BoundsCheckMode::kFatal || ctx.device() == Device::Cpu()) {
    const internal::FirstIllegal bad = DispatchDevice(
        ctx.device(), [&](auto on) { return internal::FindIllegalId(on, ctx, ids, features); });
    if (bad.feature < 0) return result;
    const CheckedIds& c = features[static_cast<size_t>(bad.feature)];
    TESSERA_CHECK(mode != BoundsCheckMode::kFatal,
                  "feature {}: id {} at position {} of the batch's ids, but its table has {} rows",
                  c.feature, bad.id, bad.place, c.rows);
  }
  const Tensor counted =
      mode == BoundsCheckMode::kWarning ? warnings : Tensor::Zeros(ctx, {1}, DType::kI64);
  const auto mend = [&](std::span<const CheckedIds> some) {
    const Tensor mended = ids.Clone(ctx);
    DispatchDevice(ctx.device(),
                   [&](auto on) { internal::MendIds(on, ctx, ids, some, mended, counted); });
    return mended;
  };
  if (!internal::Overlap(features)) {
    std::fill(result.begin(), result.end(), mend(features));
  } else {  // what is illegal for one table may name a row of another
    for (size_t f = 0; f < features.size(); ++f) result[f] = mend(features.subspan(f, 1));
  }
  return result;
}

}  // namespace tessera
