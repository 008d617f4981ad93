#include "data/rows/row_rules.h"

#include <algorithm>
#include <limits>

#include "data/rows/number_text.h"
#include "data/rows/text_hash.h"
#include "runtime/base/check.h"

namespace tessera {

// ---- numbers

DenseRule::DenseRule(DenseEntry entry, size_t cell) : entry_(std::move(entry)), cell_(cell) {
  if (entry_.transform.kind == DenseTransform::Kind::kAsIs) return;
  for (int i = 0; i < kSmall; ++i) small_.push_back(Compute(i));
}

float DenseRule::Compute(double x) const {
  x = entry_.transform.Apply(x);
  if (entry_.normalize) x = (x - entry_.normalize->first) / entry_.normalize->second;
  return static_cast<float>(x);
}

// ---- ids

// 1 where row 0 stands for missing ids.
static int64_t ShiftOf(const FeatureEntry& entry) {
  return entry.missing == MissingFeature::kRow0 ? 1 : 0;
}

IdRule::IdRule(const FeatureEntry& entry, int64_t rows)
    : kind_(entry.ids),
      rows_(static_cast<uint64_t>(rows)),
      shift_(static_cast<uint64_t>(ShiftOf(entry))),
      reciprocal_(rows_ == 0 || rows_ >> 32 != 0 ? 0 : ~uint64_t{0} / rows_ + 1),
      vocabulary_(entry.vocabulary),
      boundaries_(entry.boundaries) {
  constexpr int kSmall = 256;  // ages, years of one's life, counts
  for (int i = 0; kind_ == IdKind::kBoundaries && i < kSmall; ++i) small_.push_back(RowAbove(i));
}

// The row of a number among the boundaries.
int64_t IdRule::RowAbove(double number) const {
  const auto above = std::upper_bound(boundaries_.begin(), boundaries_.end(), number);
  return RowOf(static_cast<uint64_t>(above - boundaries_.begin()));
}

// -magnitude + shift, as a row. REQUIRES: magnitude > 0.
int64_t IdRule::RowOfNegative(uint64_t magnitude) const {
  const uint64_t left = magnitude - shift_;  // of a number that is still not positive
  if (rows_ == 0) return static_cast<int64_t>(-left);
  const uint64_t rest = left % rows_;
  return static_cast<int64_t>(rest == 0 ? 0 : rows_ - rest);
}

inline bool IdRule::ReadWhole(std::string_view item, int64_t& row, ItemCount& count) const {
  WholeNumber whole;
  if (!internal::ReadShortWhole(item, whole.magnitude) && !ParseWhole(item, whole)) return false;
  ++count.items;
  if (rows_ != 0 && (whole.negative || whole.magnitude >= rows_ - shift_)) ++count.unknown;
  row = whole.negative ? RowOfNegative(whole.magnitude) : RowOf(whole.magnitude);
  return true;
}

bool IdRule::ReadBoundary(std::string_view item, int64_t& row) const {
  uint64_t whole = 0;
  double number = 0;
  if (internal::ReadShortWhole(item, whole) && whole < small_.size()) {
    row = small_[whole];
    return true;
  }
  if (ParsePaddedNumber(item, number) != NumberFault::kNone) return false;
  row = RowAbove(number);
  return true;
}

bool IdRule::ReadAny(std::string_view item, int64_t& row, ItemCount& count) const {
  if (kind_ == IdKind::kInt) return ReadWhole(item, row, count);
  ++count.items;
  uint64_t value = 0;
  int64_t word = 0;
  switch (kind_) {
    case IdKind::kHex:
      if (!ParseHex(item, value)) return false;
      row = RowOf(value);
      return true;
    case IdKind::kText:
      if (item.empty()) return false;
      row = RowOf(internal::TextId(item));
      return true;
    case IdKind::kVocabulary:
      word = vocabulary_.FindPadded(item) + 1;
      if (word == 0) ++count.unknown;
      row = RowOf(static_cast<uint64_t>(word));
      return true;
    case IdKind::kInt:
    case IdKind::kBoundaries:
      break;
  }
  return ReadBoundary(item, row);
}

size_t IdRule::Append(std::span<const std::string_view> items, std::vector<int64_t>& rows,
                      ItemCount& count) const {
  const size_t begin = rows.size();
  rows.resize(begin + items.size());
  int64_t* const out = rows.data() + begin;
  size_t good = 0;
  if (kind_ == IdKind::kInt)  // the many of a bag
    while (good < items.size() && ReadWhole(items[good], out[good], count)) ++good;
  else
    while (good < items.size() && Read(items[good], out[good], count)) ++good;
  return good;
}

std::string IdRule::Expected(std::string_view item) const {
  if (item.empty()) return "expected an id";
  double number = 0;
  switch (kind_) {
    case IdKind::kInt:
      return "expected an integer of 64 bits";
    case IdKind::kHex:
      return "expected a hexadecimal value of at most 16 digits";
    case IdKind::kBoundaries:
      return ParseNumber(item, number) == NumberFault::kTooBig
                 ? "expected a number that a float can hold"
                 : "expected a number";
    case IdKind::kText:
    case IdKind::kVocabulary:
      break;
  }
  return "expected a text";
}

std::string WordOfRow(const FeatureEntry& entry, int64_t row) {
  const int64_t place = row - 1 - ShiftOf(entry);  // row 0, or the one after it, is any other word
  if (entry.ids != IdKind::kVocabulary || place < 0 || place >= std::ssize(entry.vocabulary))
    return "";
  return entry.vocabulary[static_cast<size_t>(place)];
}

// ---- rows

size_t RowRules::CellOf(const std::string& column) {
  const auto [found, is_new] = cells_.emplace(column, columns_.size());
  if (is_new) columns_.push_back(column);
  return found->second;
}

void RowRules::AddFeature(const CategoricalFeature& feature) {
  const FeatureEntry entry = schema_.Feature(feature.name);
  const int64_t rows = CheckedHashSize(feature);
  FeatureRule rule{.entry = entry, .ids = IdRule(entry, rows), .cell = CellOf(entry.from)};
  rule.one_id = entry.separator.empty() && !entry.weighted() && entry.drop_last == 0;
  if (!entry.weights.empty()) rule.weights = CellOf(entry.weights);
  if (entry.missing == MissingFeature::kRow0) rule.missing_row = 0;
  if (entry.missing == MissingFeature::kItem) {
    ItemCount unused;
    const std::string padded = entry.missing_item + std::string(IdRule::kItemPadding, '\0');
    const auto item = std::string_view(padded).substr(0, entry.missing_item.size());
    if (!rule.ids.Read(item, rule.missing_row.emplace(), unused))
      throw Error(Format("data.features: feature '{}': missing: {}, got '{}'", feature.name,
                         rule.ids.Expected(entry.missing_item), entry.missing_item));
  }
  layout_.keys.push_back(feature.name);
  layout_.weighted |= entry.weighted();
  if (rows == 0 || rows > std::numeric_limits<int32_t>::max()) layout_.id_type = DType::kI64;
  features_.push_back(std::move(rule));
}

RowRules::RowRules(DataSchema schema, const std::vector<CategoricalFeature>& features)
    : schema_(std::move(schema)) {
  for (const DenseEntry& entry : schema_.dense) dense_.emplace_back(entry, CellOf(entry.from));
  for (const CategoricalFeature& feature : features) AddFeature(feature);
  for (const LabelEntry& entry : schema_.labels) labels_.push_back({entry, CellOf(entry.from)});
  schema_.CheckFeaturesRead(layout_.keys);
  if (!schema_.weight.empty()) weight_ = CellOf(schema_.weight);
  if (!schema_.time.empty()) time_ = CellOf(schema_.time);
  layout_.dense = schema_.dense_size();
  layout_.labels = std::ssize(labels_);
  layout_.has_weight = weight_.has_value();
  layout_.has_time = time_.has_value();
}

}  // namespace tessera
