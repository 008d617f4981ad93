#include "data/rows/row_rules.h"

#include <algorithm>
#include <limits>

#include "data/rows/number_text.h"
#include "data/rows/short_number.h"
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

// Inlined, so that loops over many items hold the rule's numbers in registers.
[[gnu::always_inline]] inline bool IdRule::ReadWhole(std::string_view item, int64_t& row,
                                                     int64_t& unknown) const {
  WholeNumber whole;
  if (!internal::ReadShortWhole(item, whole.magnitude) && !ParseWhole(item, whole)) return false;
  if (rows_ != 0 && (whole.negative || whole.magnitude >= rows_ - shift_)) ++unknown;
  row = whole.negative ? RowOfNegative(whole.magnitude) : RowOf(whole.magnitude);
  return true;
}

inline bool IdRule::ReadBoundary(std::string_view item, int64_t& row) const {
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

template <typename Fn>
inline void IdRule::WithReader(Fn&& fn) const {
  switch (kind_) {
    case IdKind::kInt:
      return fn([this](std::string_view item, int64_t& row, int64_t& unknown) {
        return ReadWhole(item, row, unknown);
      });
    case IdKind::kHex:
      return fn([this](std::string_view item, int64_t& row, int64_t&) {
        uint64_t value = 0;
        if (!internal::ReadShortHex(item, value) && !ParseHex(item, value)) return false;
        row = RowOf(value);
        return true;
      });
    case IdKind::kText:
      return fn([this](std::string_view item, int64_t& row, int64_t&) {
        row = RowOf(internal::TextId(item));
        return !item.empty();
      });
    case IdKind::kVocabulary:
      return fn([this](std::string_view item, int64_t& row, int64_t& unknown) {
        const int64_t word = vocabulary_.FindPadded(item) + 1;
        unknown += word == 0;
        row = RowOf(static_cast<uint64_t>(word));
        return true;
      });
    case IdKind::kBoundaries:
      return fn([this](std::string_view item, int64_t& row, int64_t&) {
        return ReadBoundary(item, row);
      });
  }
}

bool IdRule::Read(std::string_view item, int64_t& row, ItemCount& count) const {
  bool good = false;
  WithReader([&](auto&& read) { good = read(item, row, count.unknown); });
  count.items += good;
  return good;
}

size_t IdRule::Append(std::span<const std::string_view> items, std::vector<int64_t>& rows,
                      ItemCount& count) const {
  const size_t begin = rows.size();
  rows.resize(begin + items.size());
  int64_t* const out = rows.data() + begin;
  size_t good = 0;
  WithReader([&](auto&& read) {
    while (good < items.size() && read(items[good], out[good], count.unknown)) ++good;
  });
  count.items += static_cast<int64_t>(good);
  return good;
}

// Numbers of AppendOnes that its loop keeps in registers.
struct IdRule::Ones {
  std::span<const LineCells> lines;
  size_t cell;
  bool may_miss;
  std::optional<int64_t> missing_row;
  int64_t* ids;      // of all bags before
  int64_t id_count;  // of these
  int64_t* ends;     // of the lines' bags
  int64_t items = 0, unknown = 0;

  // Returns how many lines are read.
  template <typename Read>
  size_t Fill(Read read) {
    const bool keeps_missing = missing_row.has_value();
    const int64_t of_missing = missing_row.value_or(0);
    int64_t end = id_count, missing = 0, strange = 0;
    size_t i = 0;
    for (; i < lines.size(); ++i) {
      const LineCell& c = lines[i].cells[cell];
      if (c.kind == LineCell::Kind::kText) {
        if (!read(c.text(), ids[end], strange)) break;
        ++end;
      } else {
        if (c.kind != LineCell::Kind::kMissing || !may_miss) break;
        ids[end] = of_missing;
        end += keeps_missing;
        missing += keeps_missing;
      }
      ends[i] = end;
    }
    items = end - id_count - missing;
    unknown = strange;
    id_count = end;
    return i;
  }
};

size_t IdRule::AppendOnes(std::span<const LineCells> lines, size_t cell, bool may_miss,
                          std::optional<int64_t> missing_row, FeatureColumn& out,
                          ItemCount& count) const {
  const size_t first = out.ids.size(), bags = out.ends.size();
  out.ids.resize(first + lines.size());
  out.ends.resize(bags + lines.size());
  Ones ones{lines,
            cell,
            may_miss,
            missing_row,
            out.ids.data(),
            static_cast<int64_t>(first),
            out.ends.data() + bags};
  size_t done = 0;
  WithReader([&](auto read) { done = ones.Fill(read); });
  count.items += ones.items;
  count.unknown += ones.unknown;
  out.ids.resize(static_cast<size_t>(ones.id_count));
  out.ends.resize(bags + done);
  return done;
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
  rule.max_ids = feature.max_ids;
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

RowRules::RowRules(DataSchema schema, const std::vector<CategoricalFeature>& features,
                   LabelCheck check)
    : schema_(std::move(schema)), label_check_(std::move(check)) {
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
