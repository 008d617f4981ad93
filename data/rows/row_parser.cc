#include "data/rows/row_parser.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "data/rows/bad_line.h"
#include "data/rows/find_byte.h"
#include "data/rows/number_text.h"
#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera {
namespace {

constexpr char kMissingLabel[] =
    "the label is missing (\"missing\": \"skip\" of its entry takes such rows)";
constexpr char kExpectedLabel[] = "expected a number, as labels are, such as 1 for yes, 0 for no";

// Says how a text that usually means a missing value becomes one, or that an item of a list cannot;
// "" for another text.
std::string MissingHint(std::string_view text, bool is_item) {
  for (const std::string_view word : {"NaN", "nan", "NA", "N/A", "NULL", "null", "None", "-"})
    if (text == word && is_item)
      return " (\"null\" in the data of the configuration is for whole cells: an item of one is "
             "never missing)";
    else if (text == word)
      return Format(" (\"null\": [\"{}\"] in the data of the configuration makes it missing)",
                    text);
  return "";
}

void SplitCell(std::string_view text, std::string_view separator,
               std::vector<std::string_view>& items) {
  items.clear();
  if (separator.size() == 1)
    return internal::SplitAtByte(text.data(), text.data() + text.size(), separator[0], items);
  for (;;) {
    const size_t at = text.find(separator);
    items.push_back(text.substr(0, at));
    if (at == text.npos) return;
    text.remove_prefix(at + separator.size());
  }
}

// The items of a bag that a model reads: without the last ones, all but so many of the rest.
struct KeptItems {
  KeptItems(const FeatureEntry& entry, size_t items) {
    const auto count = static_cast<int64_t>(items);
    const int64_t left = count - std::min(count, entry.drop_last);
    const int64_t kept = std::min(left, entry.max_length.value_or(left));
    begin = static_cast<size_t>(entry.keep_last ? left - kept : 0);
    end = begin + static_cast<size_t>(kept);
  }
  size_t begin, end;
};

template <typename T>
void Keep(const KeptItems& kept, size_t begin, std::vector<T>& values) {
  const auto first = values.begin() + static_cast<int64_t>(begin);
  if (kept.begin > 0)
    std::copy(first + static_cast<int64_t>(kept.begin), first + static_cast<int64_t>(kept.end),
              first);
  values.resize(begin + kept.end - kept.begin);
}

// Whether items of this kind can be without an id of their own.
bool HasUnknown(IdKind kind) { return kind == IdKind::kInt || kind == IdKind::kVocabulary; }

std::string ExpectedKnown(const FeatureRule& rule) {
  if (rule.entry.ids == IdKind::kVocabulary)
    return Format("expected a word of the vocabulary, which has {}",
                  internal::Counted(std::ssize(rule.entry.vocabulary), "word"));
  return Format("expected an id from 0 to {}",
                rule.ids.rows() - (rule.entry.missing == MissingFeature::kRow0 ? 2 : 1));
}

}  // namespace

// ---- cells

RowParser::Items RowParser::ItemsOf(size_t cell, const std::string& separator,
                                    std::vector<std::string_view>& scratch) {
  const LineCell& c = cells_->cells[cell];
  if (c.kind == LineCell::Kind::kList) return {cells_->ItemsOf(c), true};
  if (separator.empty())
    scratch.assign(1, c.text());
  else
    SplitCell(c.text(), separator, scratch);
  return {scratch, !separator.empty()};
}

std::string RowParser::Place(size_t cell, const Items& items, size_t item) const {
  return places_->Of(cell, items.listed ? static_cast<int64_t>(item) : -1);
}

double RowParser::Number(std::string_view text, size_t cell, const Items& items, size_t item,
                         const char* expected) const {
  double number = 0;
  const NumberFault fault = ParsePaddedNumber(text, number);
  if (fault == NumberFault::kNone) [[likely]]
    return number;
  if (fault == NumberFault::kTooBig) expected = "expected a number that a float can hold";
  if (HasDecimalComma(text)) expected = "expected a number with a decimal point, not a comma";
  throw BadLine(Place(cell, items, item), expected,
                ShownText(text) + MissingHint(text, items.listed));
}

// The text of a cell that must not be a list of several.
std::string_view RowParser::OneText(size_t cell) {
  const Items items = ItemsOf(cell, "", items_);
  if (items.texts.size() != 1)
    throw BadLine(places_->Of(cell), "expected one number", Format("{}", items.texts.size()));
  return items.texts[0];
}

double RowParser::OneNumber(size_t cell, const char* expected) {
  double number = 0;
  const LineCell& c = cells_->cells[cell];
  if (c.kind == LineCell::Kind::kText && ParsePaddedNumber(c.text(), number) == NumberFault::kNone)
    return number;
  const std::string_view text = OneText(cell);
  return Number(text, cell, ItemsOf(cell, "", items_), 0, expected);
}

// ---- what a row gives

void RowParser::AddDense(std::span<const LineCells> lines, std::vector<float>& out) {
  const auto width = static_cast<size_t>(rules_->layout().dense), begin = out.size();
  out.resize(begin + lines.size() * width);
  float* column = out.data() + begin;
  for (const DenseRule& rule : rules_->dense()) {
    const bool one = rule.entry().size == 1;
    for (size_t i = 0; i < lines.size(); ++i) {
      const LineCell& c = lines[i].cells[rule.cell()];
      uint64_t whole = 0;
      if (one && c.kind == LineCell::Kind::kText && internal::ReadShortWhole(c.text(), whole)) {
        column[i * width] = rule.OfWhole(whole);
        if (!std::isnan(column[i * width])) [[likely]]
          continue;
      }
      cells_ = &lines[i];
      SetNumbers(rule, column + i * width);
    }
    column += rule.entry().size;
  }
}

void RowParser::SetNumbers(const DenseRule& rule, float* out) {
  const DenseEntry& entry = rule.entry();
  const size_t cell = rule.cell(), size = static_cast<size_t>(entry.size);
  if (cells_->cells[cell].kind == LineCell::Kind::kMissing) {
    if (!entry.missing) throw BadLine(places_->Of(cell), "the number is missing", {});
    std::fill_n(out, size, static_cast<float>(*entry.missing));
    return;
  }
  const Items items = ItemsOf(cell, entry.separator, items_);
  if (items.texts.size() != size)
    throw BadLine(places_->Of(cell),
                  Format("expected {} number{}", entry.size, entry.size == 1 ? "" : "s"),
                  Format("{}", items.texts.size()));
  for (size_t i = 0; i < size; ++i) {
    const float number = rule(Number(items.texts[i], cell, items, i));
    if (std::isnan(number)) [[unlikely]]
      throw BadLine(Place(cell, items, i),
                    Format("expected a number above {}, as {} is taken of it",
                           -entry.transform.shift, entry.transform),
                    ShownText(items.texts[i]));
    out[i] = number;
  }
}

void RowParser::AddMissing(const FeatureRule& rule, FeatureColumn& out) {
  if (rule.entry.missing == MissingFeature::kError)
    throw BadLine(places_->Of(rule.cell), "the id is missing", {});
  if (rule.missing_row) out.ids.push_back(*rule.missing_row);
  const bool has_weights =
      rule.weights && cells_->cells[*rule.weights].kind != LineCell::Kind::kMissing;
  if (has_weights) return AddWeights(rule, rule.missing_row ? 1 : 0, out);
  if (rule.missing_row && rule.entry.weighted()) out.weights.push_back(1);
}

void RowParser::AddItems(const FeatureRule& rule, const Items& items, FeatureColumn& out,
                         ItemCount& count) {
  const size_t first = out.ids.size();
  const auto add = [&](size_t begin, size_t end, ItemCount& counted) {
    if (begin == end) return;
    const size_t good =
        begin + rule.ids.Append(items.texts.subspan(begin, end - begin), out.ids, counted);
    if (good < end) [[unlikely]]
      throw BadLine(Place(rule.cell, items, good), rule.ids.Expected(items.texts[good]),
                    ShownText(items.texts[good]));
  };
  const KeptItems kept(rule.entry, items.texts.size());
  ItemCount cut;  // items that are not read are no unknown ones
  add(0, kept.begin, cut);
  add(kept.begin, kept.end, count);
  add(kept.end, items.texts.size(), cut);
  Keep(kept, first, out.ids);
  if (rule.entry.weighted()) Keep(kept, first, out.weights);
}

RowParser::Items RowParser::CutWeights(const FeatureRule& rule, const Items& items,
                                       FeatureColumn& out) {
  const std::string& mark = rule.entry.weight_after;
  const std::vector<std::string_view> texts(items.texts.begin(), items.texts.end());
  items_.clear();
  for (size_t i = 0; i < texts.size(); ++i) {
    const size_t at = texts[i].rfind(mark);
    if (at == std::string_view::npos)
      throw BadLine(Place(rule.cell, items, i), Format("expected an id, '{}' and a weight", mark),
                    ShownText(texts[i]));
    out.weights.push_back(
        static_cast<float>(Number(texts[i].substr(at + mark.size()), rule.cell, items, i)));
    items_.push_back(texts[i].substr(0, at));
  }
  return {items_, items.listed};
}

void RowParser::AddWeights(const FeatureRule& rule, size_t count, FeatureColumn& out) {
  const size_t cell = *rule.weights;
  Items items{{}, true};
  if (cells_->cells[cell].kind != LineCell::Kind::kMissing)
    items = ItemsOf(cell, rule.entry.separator, weight_items_);
  if (items.texts.size() != count)
    throw BadLine(
        places_->Of(cell),
        Format("expected {}, one for each of {}",
               internal::Counted(static_cast<int64_t>(count), "weight"), places_->name(rule.cell)),
        Format("{}", items.texts.size()));
  for (size_t i = 0; i < count; ++i)
    out.weights.push_back(static_cast<float>(Number(items.texts[i], cell, items, i)));
}

inline size_t RowParser::AddOnes(std::span<const LineCells> lines, const FeatureRule& rule,
                                 FeatureColumn& out, ItemCount& count) {
  if (!rule.one_id) return 0;
  if (lines.size() > 1)
    return rule.ids.AppendOnes(lines, rule.cell, rule.entry.missing != MissingFeature::kError,
                               rule.missing_row, out, count);
  // A line alone, as those of JSON come, does without the loop over many.
  const LineCell& c = lines[0].cells[rule.cell];
  int64_t row = 0;
  if (c.kind != LineCell::Kind::kText || !rule.ids.Read(c.text(), row, count)) return 0;
  out.ids.push_back(row);
  out.ends.push_back(std::ssize(out.ids));
  return 1;
}

void RowParser::AddFeature(std::span<const LineCells> lines, const FeatureRule& rule,
                           FeatureColumn& out, ItemCount& count) {
  for (size_t i = 0; i < lines.size(); ++i) {
    i += AddOnes(lines.subspan(i), rule, out, count);
    if (i == lines.size()) return;
    cells_ = &lines[i];
    AddBag(rule, out, count);
  }
}

void RowParser::AddBag(const FeatureRule& rule, FeatureColumn& out, ItemCount& count) {
  const size_t begin = out.ids.size();
  if (cells_->cells[rule.cell].kind == LineCell::Kind::kMissing) {
    AddMissing(rule, out);
  } else {
    Items items = ItemsOf(rule.cell, rule.entry.separator, items_);
    if (!rule.entry.weight_after.empty()) items = CutWeights(rule, items, out);
    if (rule.weights) AddWeights(rule, items.texts.size(), out);
    AddItems(rule, items, out, count);
    const auto ids = static_cast<int64_t>(out.ids.size() - begin);
    if (rule.max_ids && ids > *rule.max_ids)
      throw BadLine(
          places_->Of(rule.cell),
          Format("expected at most {}, as many as the model has positions (\"max_length\" "
                 "of its data's feature keeps as many)",
                 internal::Counted(*rule.max_ids, "id")),
          Format("{}", ids));
  }
  out.ends.push_back(std::ssize(out.ids));
}

float RowParser::Label(const LabelRule& rule) {
  if (cells_->cells[rule.cell].kind == LineCell::Kind::kMissing) {
    if (rule.entry.missing == LabelEntry::Missing::kError)
      throw BadLine(places_->Of(rule.cell), kMissingLabel, {});
    return rule.entry.missing == LabelEntry::Missing::kSkip
               ? std::numeric_limits<float>::quiet_NaN()
               : static_cast<float>(rule.entry.missing_number);
  }
  const double number = OneNumber(rule.cell, kExpectedLabel);
  if (!rule.entry.at_least) return static_cast<float>(number);
  return number >= *rule.entry.at_least ? 1 : 0;
}

float RowParser::ExampleWeight(size_t cell) {
  if (cells_->cells[cell].kind == LineCell::Kind::kMissing) return 1;
  const double number = OneNumber(cell);
  if (number < 0)
    throw BadLine(places_->Of(cell), "expected a weight of 0 or more", ShownText(OneText(cell)));
  return static_cast<float>(number);
}

int64_t RowParser::Time(size_t cell) {
  if (cells_->cells[cell].kind == LineCell::Kind::kMissing)
    throw BadLine(places_->Of(cell), "the time is missing", {});
  const std::string_view text = OneText(cell);
  WholeNumber whole;
  if (!ParseWhole(text, whole) || (!whole.negative && whole.magnitude >> 63 != 0))
    throw BadLine(places_->Of(cell), "expected an integer of 64 bits", ShownText(text));
  return static_cast<int64_t>(whole.negative ? -whole.magnitude : whole.magnitude);
}

void RowParser::AddLabels(std::span<const LineCells> lines, std::vector<float>& out) {
  const size_t width = rules_->labels().size(), begin = out.size();
  out.resize(begin + lines.size() * width);
  float* column = out.data() + begin;
  for (const LabelRule& rule : rules_->labels()) {
    for (size_t i = 0; i < lines.size(); ++i) {
      cells_ = &lines[i];
      column[i * width] = Label(rule);
    }
    ++column;
  }
  if (rules_->label_check() == nullptr) return;
  for (size_t i = 0; i < lines.size(); ++i) CheckLabels(out.data() + begin + i * width);
}

void RowParser::CheckLabels(const float* labels) {
  const std::optional<BadLabel> bad = rules_->label_check()(labels);
  if (bad)
    throw BadLine(places_->Of(rules_->labels()[bad->label].cell), bad->expected,
                  Format("{}", labels[bad->label]));
}

void RowParser::AddRows(std::span<const LineCells> lines, RowBlock& block) {
  AddDense(lines, block.dense);
  for (size_t f = 0; f < block.features.size(); ++f)
    AddFeature(lines, rules_->features()[f], block.features[f], block.items[f]);
  AddLabels(lines, block.labels);
  for (const LineCells& line : lines) {
    cells_ = &line;
    if (rules_->weight()) block.weight.push_back(ExampleWeight(*rules_->weight()));
    if (rules_->time()) block.time.push_back(Time(*rules_->time()));
  }
}

void RowParser::Append(std::span<const LineCells> lines, const CellPlaces& places,
                       std::span<const int64_t> numbers, RowBlock& block) {
  places_ = &places;
  counts_ = block.items;
  try {
    AddRows(lines, block);
  } catch (...) {
    block.Truncate(rules_->layout());
    block.items = counts_;  // items of whole rows alone count
    throw;
  }
  block.numbers.insert(block.numbers.end(), numbers.begin(), numbers.end());
}

void RowParser::TakeBack(RowBlock& block) const {
  block.numbers.pop_back();
  block.Truncate(rules_->layout());
  block.items = counts_;
}

void RowParser::CheckKnown() {
  for (const FeatureRule& rule : rules_->features()) {
    const bool is_missing = cells_->cells[rule.cell].kind == LineCell::Kind::kMissing;
    if (is_missing || !HasUnknown(rule.entry.ids)) continue;
    Items items = ItemsOf(rule.cell, rule.entry.separator, items_);
    FeatureColumn unused;
    if (!rule.entry.weight_after.empty()) items = CutWeights(rule, items, unused);
    const KeptItems kept(rule.entry, items.texts.size());
    for (size_t i = kept.begin; i < kept.end; ++i) {
      int64_t row = 0;
      ItemCount count;
      if (rule.ids.Read(items.texts[i], row, count) && count.unknown > 0)
        throw BadLine(Format("feature {}, {}", rule.entry.name, Place(rule.cell, items, i)),
                      ExpectedKnown(rule), ShownText(items.texts[i]));
    }
  }
}

}  // namespace tessera
