#ifndef TESSERA_EMBEDDING_LOOKUP_BOUNDS_CHECK_IMPL_H_
#define TESSERA_EMBEDDING_LOOKUP_BOUNDS_CHECK_IMPL_H_
// The check of one id that both devices run, and the devices' overloads.
#include <span>

#include "embedding/lookup/bounds_check.h"
#include "runtime/device/device.h"

namespace tessera::internal {

TESSERA_HD bool IsLegalId(int64_t id, int64_t rows) { return id == -1 || IsRow(id, rows); }

// A kernel's view of CheckedIds: `count` ids from `begin` on (embedding/lookup/feature_items.h).
struct CheckedSpan {
  int64_t count, begin, rows, first_bag, num_bags;
  int64_t feature;  // its number
  int64_t* entry;   // of the log, or null
};

// The bag, counted from the span's first, that the id at `place` lies in: the last that begins
// there or before.
TESSERA_HD int64_t BagOf(const CheckedSpan& span, IndexArray offsets, int64_t place) {
  int64_t bag = 0;
  for (int64_t end = span.num_bags; end - bag > 1;) {
    const int64_t middle = bag + (end - bag) / 2;
    if (offsets[span.first_bag + middle] <= place)
      bag = middle;
    else
      end = middle;
  }
  return bag;
}

// How many examples an entry has, and whether more are to be looked for.
TESSERA_HD int64_t ExamplesOf(const int64_t* entry) {
  const int64_t n = entry[kSearched];
  return n < BoundsCheckLog::kExamples ? n : BoundsCheckLog::kExamples;
}
TESSERA_HD bool WantsExamples(const int64_t* entry) {
  return entry[kSearched] < entry[kBadIds] && entry[kSearched] < BoundsCheckLog::kExamples;
}
TESSERA_HD void PutExample(int64_t* entry, int64_t number, int64_t bag, int64_t id) {
  entry[kFirstExample + 2 * number] = bag;
  entry[kFirstExample + 2 * number + 1] = id;
}

// Arguments are checked; mode is not NONE. Counts in the log, if it is defined, but keeps no
// examples.
BoundsCheckResult CheckBounds(OnCpu, Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                              const Tensor& offsets, std::span<const int64_t> rows,
                              const BoundsCheckLog& log);
BoundsCheckResult CheckBounds(OnCuda, Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                              const Tensor& offsets, std::span<const int64_t> rows,
                              const BoundsCheckLog& log);

// The first illegal id: its place, which of the spans reads it, and how many that one has; feature
// < 0: there is none.
struct FirstIllegal {
  int64_t feature = -1, place = 0, id = 0, count = 0;
};
FirstIllegal FindIllegalId(OnCpu, Context& ctx, const Tensor& ids,
                           std::span<const CheckedSpan> spans);
FirstIllegal FindIllegalId(OnCuda, Context& ctx, const Tensor& ids,
                           std::span<const CheckedSpan> spans);
// `mended` is a copy of `ids`; illegal ids of the spans become 0 and are counted in their entries.
// Spans do not overlap.
void MendIds(OnCpu, Context& ctx, std::span<const CheckedSpan> spans, const Tensor& mended);
void MendIds(OnCuda, Context& ctx, std::span<const CheckedSpan> spans, const Tensor& mended);
// Fills entries whose counts have grown with examples from `ids`, as they were before.
void KeepExamples(OnCpu, Context& ctx, const Tensor& ids, IndexArray offsets,
                  std::span<const CheckedSpan> spans);
void KeepExamples(OnCuda, Context& ctx, const Tensor& ids, IndexArray offsets,
                  std::span<const CheckedSpan> spans);

// Throws the Error of mode FATAL for bag `bag` (of all), with `batch` bags a feature and `findings`
// in all.
[[noreturn]] void FailOnLastOffset(int64_t offset, int64_t ids, int64_t findings);
[[noreturn]] void FailOnOffsets(int64_t bag, int64_t start, int64_t end, int64_t ids,
                                int64_t findings);
[[noreturn]] void FailOnId(int64_t bag, int64_t batch, int64_t id, int64_t place, int64_t rows,
                           int64_t findings);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_LOOKUP_BOUNDS_CHECK_IMPL_H_
