#include "data/describe/column_role.h"

#include <algorithm>
#include <cmath>

#include "data/describe/column_name.h"
#include "data/describe/label_leak.h"
#include "data/describe/time_column.h"
#include "data/rows/line_cells.h"
#include "data/schema/name_ranges.h"
#include "runtime/base/check.h"
#include "runtime/json/utf8.h"

namespace tessera {
namespace {

constexpr size_t kMaxWords = 100;       // of a vocabulary that is written out
constexpr int64_t kFewNumbers = 20;     // so many distinct whole numbers are categories
constexpr int64_t kManyRows = 1000;     // in so many, values that never repeat are keys
constexpr int64_t kLongText = 40;       // bytes; longer texts that never repeat are prose
constexpr double kShareOfClicks = 0.6;  // rows at or above a label's bound, at most
constexpr double kRoom = 1.25;          // rows of a table for each id seen, for ids to come
constexpr double kRoomOfHashes = 10;    // of hashed ids: about one in ten meets another by chance

// Says why a configuration cannot name the column; "" if it can.
std::string WhyNoName(const std::string& name) {
  if (name.empty()) return "the heading gives it no name";
  try {
    if (ExpandNames(name, "") == std::vector{name}) return "";
  } catch (const Error&) {
  }
  return "in a configuration its name stands for others: rename it in the heading";
}

bool HasTwoValues(const ColumnProfile& column) {
  return column.all_numbers() && !column.is_bag() && column.distinct.exact() &&
         column.distinct_values() == 2;
}

bool IsZeroOrOne(const ColumnProfile& column) {
  return HasTwoValues(column) && column.values.least() == 0 && column.values.greatest() == 1;
}

bool CanBeLabel(const ColumnProfile& column) {
  return column.all_numbers() && !column.is_bag() && column.distinct_values() > 1;
}

// A column of few words, none of which is a number.
bool IsWords(const ColumnProfile& column) {
  return !column.is_bag() && column.whole + column.numbers == 0 && column.distinct.exact() &&
         column.distinct.count() > 1 && column.distinct.count() < kFewNumbers;
}

// "; it has the words no and yes: …", of a column of two words; else "".
std::string WordsHint(const ColumnProfile& column) {
  const auto words = TwoWords(column);
  if (!words) return "";
  return Format("; it has the words {} and {}: labels are numbers, so write 0 and 1 for them",
                words->first, words->second);
}

std::string ListedNames(const RowsProfile& profile) {
  std::vector<std::string> names;
  for (const ColumnProfile& column : profile.columns) names.push_back(column.name);
  return ListedColumns(names);
}

size_t LabelOf(const RowsProfile& profile, const RoleOptions& options) {
  const auto& columns = profile.columns;
  const auto find = [&](auto&& fits) {
    return static_cast<size_t>(std::find_if(columns.begin(), columns.end(), fits) -
                               columns.begin());
  };
  const auto find_named = [&](auto&& fits) {
    return find([&](const ColumnProfile& c) { return WhyNoName(c.name).empty() && fits(c); });
  };
  if (!options.label.empty()) {
    const size_t at = find([&](const ColumnProfile& c) { return c.name == options.label; });
    if (at == columns.size())
      throw Error(Format("--label: there is no column '{}'; there are {}", options.label,
                         ListedNames(profile)));
    if (const std::string why = WhyNoName(options.label); !why.empty())
      throw Error(Format("--label: column '{}': {}", options.label, why));
    if (!CanBeLabel(columns[at]))
      throw Error(Format("--label: column '{}' is not one number a row, of two values or more{}",
                         options.label, WordsHint(columns[at])));
    return at;
  }
  const auto named = [](const ColumnProfile& c) {
    return internal::IsLabelName(c.name) && CanBeLabel(c);
  };
  const size_t two_valued =
      find_named([&](const ColumnProfile& c) { return named(c) && HasTwoValues(c); });
  if (two_valued < columns.size()) return two_valued;
  const size_t any = find_named(named);
  return any < columns.size() ? any : find_named(IsZeroOrOne);
}

// The least value that at most kShareOfClicks of the rows reach.
double BoundOf(const ColumnProfile& column) {
  std::vector<double> values = column.values.kept();
  std::sort(values.begin(), values.end());
  const auto from =
      values.begin() + static_cast<std::ptrdiff_t>(
                           std::floor((1 - kShareOfClicks) * static_cast<double>(values.size())));
  const auto above = std::find_if(from, values.end(), [&](double value) {
    const auto reached = values.end() - std::lower_bound(values.begin(), values.end(), value);
    return static_cast<double>(reached) <= kShareOfClicks * static_cast<double>(values.size());
  });
  return above == values.end() ? values.back() : *above;
}

// Rounded up to two digits: 6,041 becomes 6,100.
int64_t RoundRows(double rows) {
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(std::max(rows, 1.0))) - 1));
  return static_cast<int64_t>(std::ceil(rows / unit) * unit);
}

bool IsPrime(int64_t number) {
  for (int64_t factor = 2; factor * factor <= number; ++factor)
    if (number % factor == 0) return false;
  return number > 1;
}

// Whether whole numbers count something, rather than name it.
bool IsCount(const ColumnProfile& column) {
  if (internal::IsIdName(column.name) || column.is_bag() || column.huge > 0) return false;
  if (column.negative > 0) return true;
  const auto distinct = static_cast<double>(column.distinct_values());
  if (distinct <= kFewNumbers) return false;
  const double span = column.values.greatest() - column.values.least() + 1;
  return distinct < 200 || span > 4 * distinct;
}

int64_t RowsOfNumbers(const ColumnProfile& column) {
  const auto distinct = static_cast<double>(column.distinct_values());
  const double greatest = column.values.greatest();
  // Ids below a few times their number keep a row each; others are taken modulo the rows.
  if (column.negative == 0 && greatest < kRoomOfHashes * distinct)
    return RoundRows(kRoom * (greatest + 1));
  return RowsOfHashes(column);
}

// Whether all texts are few and short enough to be written out as a vocabulary. (Bytes that are no
// ASCII may be no UTF-8 either, which JSON needs.)
bool AreWords(const DistinctSample& texts) {
  if (!texts.exact() || texts.count() > static_cast<int64_t>(kMaxWords)) return false;
  const auto entries = texts.Entries();
  return std::all_of(entries.begin(), entries.end(), [](const DistinctSample::Entry& entry) {
    return entry.text.size() < DistinctSample::kTextBytes && internal::IsUtf8(entry.text);
  });
}

ProposedColumn Feature(const ColumnProfile& column) {
  ProposedColumn proposed{.role = ColumnRole::kFeature, .why = {}, .at_least = {}};
  FeatureEntry& entry = proposed.feature;
  entry.name = entry.from = column.name;
  entry.separator = column.separator;
  entry.weight_after = column.weight_after;
  if (column.all_whole()) {
    proposed.rows = RowsOfNumbers(column);
    return proposed;
  }
  if (column.all_hex()) {
    entry.ids = IdKind::kHex;
  } else if (AreWords(column.distinct)) {
    entry.ids = IdKind::kVocabulary;
    for (const DistinctSample::Entry& word : column.distinct.Entries())
      if (!word.text.empty()) entry.vocabulary.push_back(word.text);
    proposed.rows = std::ssize(entry.vocabulary) + 1;
    return proposed;
  } else {
    entry.ids = IdKind::kText;
  }
  proposed.rows = RowsOfHashes(column);
  return proposed;
}

ProposedColumn Unused(std::string why) {
  return {.role = ColumnRole::kUnused, .why = std::move(why), .at_least = {}};
}

bool IsProse(const ColumnProfile& column) {
  return !column.is_bag() && column.items > 100 && column.text_bytes > kLongText * column.items &&
         static_cast<double>(column.distinct.count()) > 0.9 * static_cast<double>(column.items);
}

// Whether texts or whole numbers number the rows, or name each of them. (Numbers below 0 that a
// double holds are quantities.)
bool IsKey(const ColumnProfile& column) {
  const bool named =
      column.all_whole() ? column.negative == 0 || column.huge > 0 : !column.all_numbers();
  return named && !column.is_bag() && column.items >= kManyRows && column.distinct.all_once();
}

ProposedColumn Propose(const ColumnProfile& column) {
  if (column.items == column.empty) return Unused("it has no value");
  if (const std::string why = WhyNoName(column.name); !why.empty()) return Unused(why);
  if (column.distinct_values() == 1 && column.missing == 0 && !column.is_bag())
    return Unused("it is the same in every row");
  if (const std::string why = internal::WhyNoTime(column); !why.empty()) return Unused(why);
  if (internal::TimeLikeness(column) != internal::TimeLike::kNot)
    return {.role = ColumnRole::kTime, .why = {}, .at_least = {}};
  if (IsProse(column)) return Unused("it is a long text of its own in nearly every row");
  if (IsKey(column))
    return Unused("no value comes twice, so it is a row number or a key, which tells nothing");
  const bool is_number =
      column.all_numbers() && !column.is_bag() && (!column.all_whole() || IsCount(column));
  if (is_number || column.is_vector())
    return {.role = ColumnRole::kDense,
            .why = {},
            .at_least = {},
            .log = column.values.least() >= 0 && column.values.greatest() > 100};
  return Feature(column);
}

// A model has one time: the likeliest, of equals the first. The others are left.
void KeepOneTime(const RowsProfile& profile, std::vector<ProposedColumn>& proposed) {
  const auto likeness = [&](size_t i) {
    return proposed[i].role == ColumnRole::kTime ? internal::TimeLikeness(profile.columns[i])
                                                 : internal::TimeLike::kNot;
  };
  size_t best = 0;
  for (size_t i = 1; i < proposed.size(); ++i)
    if (likeness(i) > likeness(best)) best = i;
  for (size_t i = 0; i < proposed.size(); ++i)
    if (i != best && proposed[i].role == ColumnRole::kTime)
      proposed[i] = Unused(Format("{} is the time", profile.columns[best].name));
}

void AddLeaks(const RowsProfile& profile, size_t label, std::vector<ProposedColumn>& proposed) {
  if (label == proposed.size()) return;
  const double at_least = proposed[label].at_least.value_or(1);
  for (size_t i = 0; i < proposed.size(); ++i)
    if (i != label && proposed[i].role != ColumnRole::kUnused)
      proposed[i].leak = internal::LabelLeak(profile.columns[i], profile.columns[label], at_least);
}

}  // namespace

std::string ToString(ColumnRole role) {
  static constexpr const char* kNames[] = {"label", "time", "dense", "feature", "unused"};
  return kNames[static_cast<size_t>(role)];
}

bool RefusesEmptyItems(const ColumnProfile& column, const ProposedColumn& proposed) {
  return column.empty > 0 && proposed.role == ColumnRole::kFeature &&
         proposed.feature.ids != IdKind::kVocabulary;
}

std::optional<std::pair<std::string, std::string>> TwoWords(const ColumnProfile& column) {
  const auto entries = column.distinct.Entries();
  if (!IsWords(column) || entries.size() != 2) return {};
  return std::minmax(entries[0].text, entries[1].text);
}

std::vector<ProposedColumn> ProposeColumns(const RowsProfile& profile, const RoleOptions& options) {
  const size_t label = LabelOf(profile, options);
  std::vector<ProposedColumn> proposed;
  for (size_t i = 0; i < profile.columns.size(); ++i) {
    const ColumnProfile& column = profile.columns[i];
    proposed.push_back(i == label
                           ? ProposedColumn{.role = ColumnRole::kLabel, .why = {}, .at_least = {}}
                           : Propose(column));
    proposed.back().words_of_label =
        i != label && internal::IsLabelName(column.name) && IsWords(column);
    if (i == label)
      proposed.back().by_values = options.label.empty() && !internal::IsLabelName(column.name);
    if (i == label && !IsZeroOrOne(column)) proposed.back().at_least = BoundOf(column);
  }
  KeepOneTime(profile, proposed);
  AddLeaks(profile, label, proposed);
  return proposed;
}

// Rows of a table whose ids are taken modulo them. They are a prime, so that ids that end in equal
// digits do not meet more often than by chance.
int64_t RowsOfHashes(const ColumnProfile& column) {
  int64_t rows = RoundRows(kRoomOfHashes * static_cast<double>(column.distinct_values()));
  while (!IsPrime(rows)) ++rows;
  return rows;
}

double TicksASecond(const ColumnProfile& column) { return internal::TicksASecond(column); }

bool AreCriteoColumns(const RowsProfile& profile) {
  constexpr size_t kNumbers = 13, kIds = 26;
  constexpr int64_t kDigits = 8;
  const std::vector<ColumnProfile>& columns = profile.columns;
  const bool tabs = profile.files.format == RowFormat::kTsv && profile.files.delimiter == '\t';
  if (!tabs || profile.files.columns.empty() || columns.size() != 1 + kNumbers + kIds) return false;
  const auto is_number = [](const ColumnProfile& c) {
    return c.items == 0 || (c.all_whole() && !c.is_bag());
  };
  const auto is_id = [](const ColumnProfile& c) {
    return c.items == 0 ||
           (c.digits == kDigits && c.hexadecimal + c.whole == c.items && c.negative == 0);
  };
  const ColumnProfile& label = columns.front();
  return label.all_whole() && label.missing == 0 && label.values.least() >= 0 &&
         label.values.greatest() <= 1 &&
         std::all_of(columns.begin() + 1, columns.begin() + 1 + kNumbers, is_number) &&
         std::all_of(columns.begin() + 1 + kNumbers, columns.end(), is_id);
}

}  // namespace tessera
