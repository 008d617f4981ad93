#include "data/describe/time_column.h"

#include <algorithm>
#include <string>

#include "data/describe/column_name.h"
#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera::internal {
namespace {

// Seconds since 1970 of the begin of 1985 and of 2100. Numbers between them, or as many milli- or
// microseconds, are taken for times where more than the values says so.
constexpr double kFirstSecond = 473385600, kLastSecond = 4102444800;

// 1, 1e3 or 1e6; 0 of other numbers.
double TicksOf(const ColumnProfile& column) {
  const double least = column.values.least(), greatest = column.values.greatest();
  for (const double ticks : {1.0, 1e3, 1e6})
    if (least >= ticks * kFirstSecond && greatest <= ticks * kLastSecond) return ticks;
  return 0;
}

bool AreEpochs(const ColumnProfile& column) { return TicksOf(column) > 0; }

// Whether the numbers are days as 20240131.
bool AreDays(const ColumnProfile& column) {
  return column.values.least() >= 19850101 && column.values.greatest() <= 21000101;
}

// Whether the numbers rise from row to row, and do not merely number the rows.
bool Rise(const ColumnProfile& column) {
  const double span = column.values.greatest() - column.values.least();
  const bool numbers_rows =
      column.distinct.all_once() && span + 1 == static_cast<double>(column.items);
  return span > 0 && !numbers_rows && std::ranges::is_sorted(column.values.kept());
}

// The likeness of the numbers of a column, whole or not.
TimeLike LikenessOf(const ColumnProfile& column) {
  if (!column.all_numbers() || column.is_bag()) return TimeLike::kNot;
  if (IsTimeName(column.name)) return TimeLike::kByName;
  if (IsIdName(column.name)) return TimeLike::kNot;
  const bool are_epochs = AreEpochs(column);
  if ((are_epochs || AreDays(column)) && HasTimeWord(column.name))
    return TimeLike::kByValuesAndName;
  return are_epochs && Rise(column) ? TimeLike::kByValues : TimeLike::kNot;
}

}  // namespace

TimeLike TimeLikeness(const ColumnProfile& column) {
  const bool fits = column.values.greatest() < 0x1p63;  // as the time of a schema, which is signed
  const bool readable = column.all_whole() && fits && column.missing == 0;
  return readable ? LikenessOf(column) : TimeLike::kNot;
}

double TicksASecond(const ColumnProfile& column) {
  return LikenessOf(column) == TimeLike::kNot ? 0 : TicksOf(column);
}

std::string WhyNoTime(const ColumnProfile& column) {
  if (LikenessOf(column) == TimeLike::kNot || !AreEpochs(column)) return "";
  if (!column.all_whole())
    return "it has times with a fraction, but the time of a schema is a whole number: write "
           "milliseconds, for instance";
  if (column.missing > 0)
    return Format("it has times, but not in {}, and no row may lack it",
                  internal::Counted(column.missing, "row"));
  return "";
}

}  // namespace tessera::internal
