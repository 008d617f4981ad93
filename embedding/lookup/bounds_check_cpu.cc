// The bounds check on a CPU: a pass that runs as vectors and finds nothing, most of the time; else
// the sequential walk of the header, on copies.
#include <algorithm>
#include <atomic>

#include "embedding/lookup/bounds_check_impl.h"
#include "runtime/tensor.h"

namespace tessera::internal {
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

template <typename Id, typename Offset>
class Mender {
 public:
  // fatal_findings above 0: the first finding is an error, whose text gives this number. log: null
  // or the entries.
  Mender(int64_t fatal_findings, std::span<Id> ids, std::span<Offset> offsets, int64_t* log)
      : fatal_findings_(fatal_findings), ids_(ids), offsets_(offsets), log_(log) {}

  // Mends ids and offsets; returns the number of findings.
  int64_t Mend(std::span<const int64_t> rows) {
    const auto n = static_cast<int64_t>(ids_.size());
    const int64_t batch =
        rows.empty() ? 0 : static_cast<int64_t>((offsets_.size() - 1) / rows.size());
    if (static_cast<int64_t>(offsets_.back()) != n) {
      if (fatal()) FailOnLastOffset(offsets_.back(), n, fatal_findings_);
      if (!rows.empty()) Note(static_cast<int64_t>(rows.size()) - 1, kBadOffsets);
      offsets_.back() = static_cast<Offset>(n);
    }
    for (int64_t bag = 0; bag + 1 < static_cast<int64_t>(offsets_.size()); ++bag) {
      MendOffsets(bag, batch, n);
      MendIds(bag, batch, rows[static_cast<size_t>(bag / batch)]);
    }
    return findings_;
  }

 private:
  bool fatal() const { return fatal_findings_ > 0; }
  void Note(int64_t feature, int kind) {
    ++findings_;
    if (log_ != nullptr) ++log_[feature * kLogEntry + kind];
  }

  void MendOffsets(int64_t bag, int64_t batch, int64_t n) {
    Offset* o = offsets_.data() + bag;
    const int64_t start = o[0], end = o[1];
    if (0 <= start && start <= end && end <= n) return;
    if (fatal()) FailOnOffsets(bag, start, end, n, fatal_findings_);
    Note(bag / batch, kBadOffsets);
    o[0] = static_cast<Offset>(std::clamp<int64_t>(start, 0, n));
    o[1] = static_cast<Offset>(std::clamp<int64_t>(end, o[0], n));
  }

  void MendIds(int64_t bag, int64_t batch, int64_t rows) {
    const Offset* o = offsets_.data() + bag;
    for (int64_t i = o[0]; i < o[1]; ++i) {
      Id& id = ids_[static_cast<size_t>(i)];
      if (IsLegalId(id, rows)) continue;
      if (fatal()) FailOnId(bag, batch, id, i, rows, fatal_findings_);
      Note(bag / batch, kBadIds);
      id = 0;
    }
  }

  int64_t fatal_findings_;
  std::span<Id> ids_;
  std::span<Offset> offsets_;
  int64_t* log_;
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

// Copies of ids and offsets, mended.
template <typename Id, typename Offset>
BoundsCheckResult Mended(Context& ctx, const Tensor& ids, const Tensor& offsets,
                         std::span<const int64_t> rows, int64_t fatal_findings, int64_t* log) {
  BoundsCheckResult result = {ids.Clone(ctx), offsets.Clone(ctx), 0};
  result.warnings =
      Mender<Id, Offset>(fatal_findings, result.ids.span<Id>(), result.offsets.span<Offset>(), log)
          .Mend(rows);
  return result;
}

}  // namespace

BoundsCheckResult CheckBounds(OnCpu, Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                              const Tensor& offsets, std::span<const int64_t> rows,
                              const BoundsCheckLog& log) {
  BoundsCheckResult result{ids, offsets};
  int64_t* entries = log.defined() ? log.entries().data<int64_t>() : nullptr;
  VisitIndexType(ids.dtype(), "ids", [&]<typename Id>() {
    VisitIndexType(offsets.dtype(), "offsets", [&]<typename Offset>() {
      if (NothingToFind<Id, Offset>(ctx, ids.span<Id>(), offsets.span<Offset>(), rows)) return;
      result = Mended<Id, Offset>(ctx, ids, offsets, rows, 0, entries);
      if (mode == BoundsCheckMode::kFatal && result.warnings > 0)
        Mended<Id, Offset>(ctx, ids, offsets, rows, result.warnings, nullptr);
      if (mode != BoundsCheckMode::kWarning) result.warnings = 0;
    });
  });
  return result;
}

FirstIllegal FindIllegalId(OnCpu, Context& ctx, const Tensor& ids,
                           std::span<const CheckedSpan> spans) {
  FirstIllegal found;
  VisitIndexType(ids.dtype(), "ids", [&]<typename Id>() {
    for (const CheckedSpan& span : spans) {
      const Id* data = ids.data<Id>() + span.begin;
      if (AllLegal(ctx, data, span.count, span.rows)) continue;
      for (int64_t i = 0; i < span.count; ++i)
        if (!IsLegalId(data[i], span.rows) && found.count++ == 0)
          found = {span.feature, span.begin + i, data[i], 1};
      return;
    }
  });
  return found;
}

void MendIds(OnCpu, Context&, std::span<const CheckedSpan> spans, const Tensor& mended) {
  VisitIndexType(mended.dtype(), "ids", [&]<typename Id>() {
    Id* data = mended.data<Id>();
    for (const CheckedSpan& span : spans)
      for (int64_t i = span.begin; i < span.begin + span.count; ++i) {
        if (IsLegalId(data[i], span.rows)) continue;
        data[i] = 0;
        if (span.entry != nullptr) ++span.entry[kBadIds];
      }
  });
}

void KeepExamples(OnCpu, Context&, const Tensor& ids, IndexArray offsets,
                  std::span<const CheckedSpan> spans) {
  const IndexArray data = {ids.raw_data(), ids.dtype() == DType::kI64};
  for (const CheckedSpan& span : spans) {
    if (!WantsExamples(span.entry)) continue;
    int64_t kept = ExamplesOf(span.entry);
    for (int64_t i = span.begin; i < span.begin + span.count && kept < BoundsCheckLog::kExamples;
         ++i)
      if (!IsLegalId(data[i], span.rows))
        PutExample(span.entry, kept++, BagOf(span, offsets, i), data[i]);
    span.entry[kSearched] = span.entry[kBadIds];
  }
}

}  // namespace tessera::internal
