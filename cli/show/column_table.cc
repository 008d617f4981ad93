#include "cli/show/column_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <numeric>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/base/process_text.h"
#include "runtime/json/json_object.h"

namespace tessera::cli {
namespace {

using internal::Json;

constexpr int kBuckets = 8;
constexpr size_t kShown = 30;  // characters of a cell

// Whole numbers in full, such as times.
std::string Number(double number) {
  constexpr double kFull = 1e16;
  const bool whole = std::abs(number) < kFull && number == std::floor(number);
  return whole ? Format("{:.0f}", number) : Format("{:.6g}", number);
}

// Cut inside no character.
std::string Cut(const std::string& text, size_t most = kShown) {
  if (text.size() <= most) return text;
  size_t end = most;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::string Kind(const ColumnProfile& column) {
  std::string kind = "text";
  if (column.items == 0)
    kind = "-";
  else if (column.all_whole())
    kind = "whole numbers";
  else if (column.all_numbers())
    kind = "numbers";
  else if (column.all_hex())
    kind = "hexadecimal";
  if (column.is_bag()) kind = "bags of " + kind;
  if (!column.weight_after.empty()) kind += ", weighted";
  return kind;
}

std::string Distinct(const ColumnProfile& column) {
  return (column.distinct.exact() ? "" : "~") + Count(column.distinct_values());
}

// The range of numbers, or the most frequent values.
std::string Values(const ColumnProfile& column, ColumnRole role) {
  if (column.items == 0) return "";
  if (column.all_numbers() && role != ColumnRole::kFeature)
    return Number(column.values.least()) + " … " + Number(column.values.greatest());
  std::string text;
  const auto entries = column.distinct.Entries();
  for (size_t i = 0; i < std::min<size_t>(2, entries.size()); ++i)
    text += (i == 0 ? "" : ", ") + Cut(entries[i].text, 12) + " " +
            Share(entries[i].count, column.items);
  return text;
}

// How many items each eighth of the distinct values has, the most frequent values first.
std::vector<int64_t> RankHistogram(const ColumnProfile& column) {
  const auto entries = column.distinct.Entries();
  std::vector<int64_t> counts(std::min<size_t>(kBuckets, entries.size()));
  for (size_t i = 0; i < entries.size(); ++i)
    counts[i * counts.size() / entries.size()] += entries[i].count;
  return counts;
}

std::vector<int64_t> Histogram(const ColumnProfile& column, ColumnRole role) {
  if (column.items == 0) return {};
  if (column.is_bag()) return column.lengths.Histogram(kBuckets);
  if (column.all_numbers() && role != ColumnRole::kFeature)
    return column.values.Histogram(kBuckets);
  return RankHistogram(column);
}

std::string Items(const ColumnProfile& column) {
  if (!column.is_bag()) return "1";
  return Format("{} … {}, mean {}", Number(column.lengths.least()),
                Number(column.lengths.greatest()), Fixed(column.lengths.mean(), 1));
}

// In quotes where a shell would not take it as it is.
std::string Quoted(const std::string& word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '/' || c == '-' || c == '_' || c == '.';
  });
  return plain ? word : "'" + word + "'";
}

// "numbers with a decimal comma (98 %): …", or "".
std::string CommaNote(const ColumnProfile& column) {
  if (!column.has_decimal_commas()) return "";
  if (column.may_be_thousands())
    return Format(
        "numbers with a comma before three digits ({}), which are read as texts: write 11129 for "
        "11,129 if it is between thousands, 11.129 if it is a decimal comma",
        Share(column.decimal_commas, column.items));
  return Format(
      "numbers with a decimal comma ({}), which are read as texts: write 3.5 for 3,5 (or, if they "
      "are lists, give them \"separator\": \",\")",
      Share(column.decimal_commas, column.items));
}

// "numbers with a + before or blanks around (98 %): …", or "".
std::string PaddingNote(const ColumnProfile& column) {
  if (!column.has_padded_numbers()) return "";
  return Format(
      "numbers with a + before or blanks around ({}), which are read as texts: write 3.5 for +3.5 "
      "or ' 3.5'",
      Share(column.padded, column.items));
}

// The note on a column of dates, or "".
std::string DateNote(const ColumnProfile& column) {
  if (column.items == 0 || column.dates < column.items) return "";
  return "dates, which are read as texts: write what tells something of them, such as the weekday "
         "or the hour, into columns of numbers (\"time\" takes whole numbers, as seconds)";
}

// "2023-11-14T22:13:20Z".
std::string Date(double seconds) {
  using std::chrono::system_clock;
  const std::chrono::seconds since(static_cast<int64_t>(std::floor(seconds)));
  constexpr size_t kUpToSeconds = 19;
  return UtcTimeText(system_clock::time_point(since)).substr(0, kUpToSeconds) + "Z";
}

// "seconds since 1970, from 2023-11-14T22:13:20Z to 2023-11-15T22:13:20Z", or "".
std::string TimesNote(const ColumnProfile& column) {
  const double ticks = TicksASecond(column);
  if (ticks == 0) return "";
  return Format("{}seconds since 1970, from {} to {}",
                ticks == 1     ? ""
                : ticks == 1e3 ? "milli"
                               : "micro",
                Date(column.values.least() / ticks), Date(column.values.greatest() / ticks));
}

// "12 cells are not UTF-8, the first in visits.csv:7: …", or "".
std::string EncodingNote(const ColumnProfile& column) {
  if (column.not_utf8 == 0) return "";
  return Format(
      "{} cells are not UTF-8, the first in {}: their ids are other ones than those of the same "
      "text in UTF-8 (iconv -f LATIN1 -t UTF-8 writes it)",
      Count(column.not_utf8), column.first_not_utf8);
}

// "12 items are empty, as behind a separator too many: …", or "".
std::string EmptyNote(const ColumnProfile& column, const ProposedColumn& proposed) {
  if (!RefusesEmptyItems(column, proposed)) return "";
  return Format(
      "{} empty, as behind a separator too many, and no id: training refuses such lines, or leaves "
      "them out (--skip-bad-lines)",
      column.empty == 1 ? "1 item is" : Count(column.empty) + " items are");
}

std::string WordsNote(const ProposedColumn& proposed) {
  return proposed.words_of_label ? "by its name a label, but of words: labels are numbers, such as "
                                   "1 for yes and 0 for no"
                                 : "";
}

// "the label, by its values alone (--label COLUMN names another); 64 % of the rows have none, …".
std::string LabelNote(const ColumnProfile& column, const ProposedColumn& proposed) {
  if (proposed.role != ColumnRole::kLabel) return "";
  std::vector<std::string> parts;
  if (proposed.by_values)
    parts.push_back("the label, by its values alone (--label COLUMN names another)");
  if (proposed.at_least)
    parts.push_back(
        Format("the label, whose numbers become 1 from {} on, and 0 below; for regression take "
               "\"at_least\" out and give the task the loss mse",
               Number(*proposed.at_least)));
  if (column.missing > 0)
    parts.push_back(Format("{} of the rows have no label, and so no part in the loss",
                           Share(column.missing, column.rows)));
  return internal::Joined(parts, "; ");
}

// "numbers but for NA (3 %) and NULL (1 %): --null NA --null NULL", or "".
std::string NullNote(const ColumnProfile& column) {
  if (!column.is_numbers_but_for_words()) return "";
  std::string words, flags;
  for (const auto& [word, count] : column.words) {
    words += (words.empty() ? "" : " and ") + word + " (" + Share(count, column.items) + ")";
    flags += " --null " + Quoted(word);
  }
  return Format("numbers but for {}:{}", words, flags);
}

// Notes on what to know of a column, and what to mend in it.
std::vector<std::string> NotesOn(const ColumnProfile& column, const ProposedColumn& proposed) {
  std::vector<std::string> notes = {TimesNote(column),          NullNote(column),
                                    CommaNote(column),          PaddingNote(column),
                                    DateNote(column),           EncodingNote(column),
                                    WordsNote(proposed),        LabelNote(column, proposed),
                                    EmptyNote(column, proposed)};
  std::erase(notes, "");
  return notes;
}

Json ColumnJson(const ColumnProfile& column, const ProposedColumn& proposed) {
  Json json = {{"name", column.name},
               {"role", ToString(proposed.role)},
               {"kind", Kind(column)},
               {"rows", column.rows},
               {"missing", column.missing},
               {"items", column.items},
               {"distinct", column.distinct_values()},
               {"distinct_is_exact", column.distinct.exact()}};
  if (!proposed.why.empty()) json["why"] = proposed.why;
  if (!proposed.leak.empty()) json["leak"] = proposed.leak;
  const std::string note = internal::Joined(NotesOn(column, proposed), "; ");
  if (!note.empty()) json["note"] = note;
  if (column.values.count() > 0)
    json["values"] = {{"least", column.values.least()},
                      {"greatest", column.values.greatest()},
                      {"mean", column.values.mean()}};
  if (column.is_bag())
    json["items_a_row"] = {{"least", column.lengths.least()},
                           {"greatest", column.lengths.greatest()},
                           {"mean", column.lengths.mean()}};
  if (!column.separator.empty()) json["separator"] = column.separator;
  const std::vector<int64_t> histogram = Histogram(column, proposed.role);
  json["histogram"] = histogram;
  json["histogram_counts"] = std::accumulate(histogram.begin(), histogram.end(), int64_t{0});
  Json top = Json::array();
  const auto entries = column.distinct.Entries();
  for (size_t i = 0; i < std::min<size_t>(10, entries.size()); ++i)
    top.push_back({{"value", entries[i].text}, {"items", entries[i].count}});
  json["most_frequent"] = top;
  return json;
}

std::string NameOf(const ColumnProfile& column) {
  return column.name.empty() ? "(no name)" : column.name;
}

}  // namespace

std::string Sparkline(const std::vector<int64_t>& counts) {
  static constexpr std::array<const char*, 8> kHeights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const int64_t most =
      counts.empty() ? 0 : std::max<int64_t>(1, *std::max_element(counts.begin(), counts.end()));
  std::string line;
  for (const int64_t count : counts)
    line +=
        count == 0 ? " " : kHeights[static_cast<size_t>(std::min<int64_t>(7, 8 * count / most))];
  return line;
}

std::string ColumnTable(const RowsProfile& profile, const std::vector<ProposedColumn>& columns) {
  std::vector<std::vector<std::string>> rows = {
      {"column", "proposed as", "holds", "missing", "distinct", "items a row", "values", ""}};
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnProfile& column = profile.columns[i];
    const ColumnRole role = columns[i].role;
    rows.push_back({Cut(NameOf(column), 20), ToString(role), Kind(column),
                    Share(column.missing, column.rows), Distinct(column), Items(column),
                    Cut(Values(column, role)), Sparkline(Histogram(column, role))});
  }
  std::string text = internal::TextTable(rows);
  for (size_t i = 0; i < columns.size(); ++i)
    if (!columns[i].why.empty())
      text += Format("\n{} is unused: {}.", NameOf(profile.columns[i]), columns[i].why);
  for (size_t i = 0; i < columns.size(); ++i)
    if (!columns[i].leak.empty())
      text += Format("\n{} may tell the label: {}; leave it out if it comes after the label.",
                     profile.columns[i].name, columns[i].leak);
  for (size_t i = 0; i < columns.size(); ++i)
    for (const std::string& note : NotesOn(profile.columns[i], columns[i]))
      text += Format("\n{}: {}", profile.columns[i].name, note);
  for (const std::string& key : profile.objects)
    text += Format(
        "\n{} is not read: it holds JSON objects; write what they hold as keys of the line itself",
        key);
  return text.ends_with('\n') ? text : text + "\n";
}

std::string ColumnsJson(const RowsProfile& profile, const std::vector<ProposedColumn>& columns) {
  Json list = Json::array();
  for (size_t i = 0; i < columns.size(); ++i)
    list.push_back(ColumnJson(profile.columns[i], columns[i]));
  const Json json = {{"described_rows", profile.rows},
                     {"all", profile.all},
                     {"bad_lines", profile.bad_lines},
                     {"format", ToString(profile.files.format)},
                     {"columns", list},
                     {"not_read", profile.objects}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tessera::cli
