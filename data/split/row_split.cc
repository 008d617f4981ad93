#include "data/split/row_split.h"

#include <cmath>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/numbers/random.h"

namespace tessera {
namespace {

// Sequences of random numbers that no order of rows takes (data/row_order.h).
constexpr uint64_t kSequence = uint64_t{1} << 62;

uint64_t SequenceOf(SplitBy by) { return kSequence | static_cast<uint64_t>(by); }

std::string Percent(double fraction) { return Format("{:.4g} %", 100 * fraction); }

}  // namespace

std::string ToString(SplitBy by) {
  return by == SplitBy::kRandom ? "random" : by == SplitBy::kKey ? "key" : "time";
}

std::string ToString(RowPart part) {
  return part == RowPart::kAll ? "all" : part == RowPart::kTrain ? "train" : "eval";
}

RowPart ParseRowPart(const std::string& word) {
  for (const RowPart part : {RowPart::kAll, RowPart::kTrain, RowPart::kEval})
    if (word == ToString(part)) return part;
  throw Error(Format("part '{}': expected train, eval or all", word));
}

bool GoesByOtherRows(const SplitOptions& options) {
  return options.by == SplitBy::kRandom || SeeksTime(options);
}

std::string ToString(const SplitOptions& options) {
  const std::string share = Percent(options.fraction);
  switch (options.by) {
    case SplitBy::kRandom:
      return Format("random, {} of rows for evaluation (seed {})", share, options.seed);
    case SplitBy::kKey:
      return Format("by {}, {} of its ids for evaluation (seed {})", options.feature, share,
                    options.seed);
    case SplitBy::kTime:
      return options.at ? Format("by time, rows from {} on for evaluation", *options.at)
                        : Format("by time, the last {} of rows for evaluation", share);
  }
  TESSERA_FAIL("split {}", static_cast<int>(options.by));
}

std::string FoundTimeText(const SplitOptions& options) {
  if (!options.at_was_found) return "";
  return Format(
      "the time from which rows are for evaluation, {}, stays that of the last {} of the rows that "
      "the training began with",
      *options.at, Percent(options.fraction));
}

bool SeeksTime(const std::optional<SplitOptions>& split) {
  return split && split->by == SplitBy::kTime && !split->at;
}

void TakeFoundTime(const std::optional<SplitOptions>& saved, std::optional<SplitOptions>& split) {
  if (SeeksTime(split) && saved && saved->at_was_found && saved->fraction == split->fraction)
    split = saved;
}

void ForgetFoundTime(std::optional<SplitOptions>& split) {
  if (!split || !split->at_was_found) return;
  split->at.reset();
  split->at_was_found = false;
}

RowFilter::RowFilter(SplitOptions options, RowPart part)
    : options_(std::move(options)), is_eval_(part == RowPart::kEval) {
  TESSERA_CHECK(part != RowPart::kAll, "a filter of all rows");
  TESSERA_CHECK(by() != SplitBy::kTime || options_.at, "a split by time without its time");
  if (by() == SplitBy::kTime) return;
  TESSERA_CHECK(options_.fraction > 0 && options_.fraction < 1, "fraction {} of a split",
                options_.fraction);
  limit_ = static_cast<uint64_t>(std::ldexp(options_.fraction, 64));
}

bool RowFilter::IsBelow(int64_t number) const {
  const PhiloxBits bits = Philox(options_.seed, SequenceOf(by()), static_cast<uint64_t>(number));
  return (uint64_t{bits.v[0]} << 32 | bits.v[1]) < limit_;
}

}  // namespace tessera
