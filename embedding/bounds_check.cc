#include "embedding/bounds_check.h"

#include <algorithm>
#include <atomic>

namespace tessera {
namespace {

constexpr int64_t kGrain = 1 << 15;

bool IsLegal(int64_t id, int64_t rows) { return id == -1 || IsRow(id, rows); }

template <typename Id>
bool AllLegal(Context& ctx, const Id* ids, int64_t n, int64_t rows) {
  std::atomic<bool> legal = true;
  ParallelFor(ctx, n, kGrain, [&](int64_t begin, int64_t end) {
    bool here = true;  // no early exit: the loop runs as vectors
    for (int64_t i = begin; i < end; ++i) here &= IsLegal(ids[i], rows);
    if (!here) legal.store(false, std::memory_order_relaxed);
  });
  return legal.load();
}

// The sequential walk of the header, on copies.
template <typename Id, typename Offset>
class Mender {
 public:
  Mender(BoundsCheckMode mode, std::span<Id> ids, std::span<Offset> offsets)
      : mode_(mode), ids_(ids), offsets_(offsets) {}

  int64_t Mend(std::span<const int64_t> rows) {
    const auto n = static_cast<int64_t>(ids_.size());
    const size_t batch = rows.empty() ? 0 : (offsets_.size() - 1) / rows.size();
    if (static_cast<int64_t>(offsets_.back()) != n) {
      Found("the last offset is {}, but there are {} ids", offsets_.back(), n);
      offsets_.back() = static_cast<Offset>(n);
    }
    for (size_t bag = 0; bag + 1 < offsets_.size(); ++bag) {
      MendOffsets(bag, n);
      MendIds(bag, rows[bag / batch], bag / batch, bag % batch);
    }
    return findings_;
  }

 private:
  template <typename... Args>
  void Found(const char* pattern, const Args&... args) {
    if (mode_ == BoundsCheckMode::kFatal) TESSERA_FAIL(pattern, args...);
    ++findings_;
  }

  void MendOffsets(size_t bag, int64_t n) {
    const int64_t start = offsets_[bag], end = offsets_[bag + 1];
    if (0 <= start && start <= end && end <= n) return;
    Found("bag {}: offsets {} to {}, of {} ids", bag, start, end, n);
    offsets_[bag] = static_cast<Offset>(std::clamp<int64_t>(start, 0, n));
    offsets_[bag + 1] = static_cast<Offset>(std::clamp<int64_t>(end, offsets_[bag], n));
  }

  void MendIds(size_t bag, int64_t rows, size_t feature, size_t example) {
    for (int64_t i = offsets_[bag]; i < offsets_[bag + 1]; ++i) {
      Id& id = ids_[static_cast<size_t>(i)];
      if (IsLegal(id, rows)) continue;
      Found("feature {}, example {}: id {} at position {}, but the table has {} rows", feature,
            example, id, i, rows);
      id = 0;
    }
  }

  BoundsCheckMode mode_;
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

}  // namespace

BoundsCheckResult CheckBounds(Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                              const Tensor& offsets, std::span<const int64_t> rows) {
  BoundsCheckResult result{ids, offsets};
  if (mode == BoundsCheckMode::kNone) return result;
  const int64_t features = static_cast<int64_t>(rows.size());
  TESSERA_CHECK(offsets.numel() >= 1 &&
                    (features == 0 ? offsets.numel() == 1 : (offsets.numel() - 1) % features == 0),
                "bounds check: {} offsets for {} features: expected features x examples + 1",
                offsets.numel(), features);
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

BoundsCheckResult CheckIds(Context& ctx, BoundsCheckMode mode, const Tensor& ids, int64_t begin,
                           int64_t end, int64_t rows, const std::string& feature) {
  BoundsCheckResult result{ids, {}};
  if (mode == BoundsCheckMode::kNone) return result;
  VisitIndexType(ids.dtype(), "ids", [&]<typename Id>() {
    const Id* given = ids.data<Id>();
    if (AllLegal(ctx, given + begin, end - begin, rows)) return;
    result.ids = ids.Clone(ctx);
    Id* mended = result.ids.data<Id>();
    for (int64_t i = begin; i < end; ++i) {
      if (IsLegal(mended[i], rows)) continue;
      TESSERA_CHECK(
          mode != BoundsCheckMode::kFatal,
          "feature {}: id {} at position {} of the batch's ids, but its table has {} rows", feature,
          mended[i], i, rows);
      mended[i] = 0;
      if (mode == BoundsCheckMode::kWarning) ++result.warnings;
    }
  });
  return result;
}

}  // namespace tessera
