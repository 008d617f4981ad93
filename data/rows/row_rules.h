#ifndef TESSERA_DATA_ROWS_ROW_RULES_H_
#define TESSERA_DATA_ROWS_ROW_RULES_H_
// A schema made ready for reading rows for certain tables: which cells a line must give, and what
// becomes of each. Any thread may use it; nothing in it changes.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/batch_builder.h"
#include "data/rows/line_cells.h"
#include "data/rows/row_block.h"
#include "data/rows/word_table.h"
#include "data/schema/data_schema.h"
#include "data/table_row.h"

namespace tessera {

// From a number of a cell to a number of a model: transform, then normalize, then rounded to f32.
class DenseRule {
 public:
  DenseRule(DenseEntry entry, size_t cell);

  const DenseEntry& entry() const { return entry_; }
  size_t cell() const { return cell_; }
  float OfWhole(uint64_t x) const {
    return x < small_.size() ? small_[x] : Compute(static_cast<double>(x));
  }
  // NaN where the number has no logarithm.
  float operator()(double x) const {
    if (small_.empty() || !(x >= 0 && x < kSmall)) return Compute(x);
    const auto whole = static_cast<size_t>(x);
    return static_cast<double>(whole) == x ? small_[whole] : Compute(x);
  }

 private:
  static constexpr int kSmall = 1024;
  float Compute(double x) const;

  DenseEntry entry_;
  size_t cell_;
  std::vector<float> small_;  // results for small whole numbers, where that takes a logarithm
};

// From an item to the row of a table.
class IdRule {
 public:
  static constexpr size_t kItemPadding = 16;

  // `rows`: of the table; 0: ids stay raw.
  IdRule(const FeatureEntry& entry, int64_t rows);

  // False for an item that is none; Expected says what was expected. Counts the item. REQUIRES of
  // items: kItemPadding bytes from their first on can be read.
  bool Read(std::string_view item, int64_t& row, ItemCount& count) const;
  // Adds the rows of the items to `rows`. Returns how many items were good before the first one
  // that is not.
  size_t Append(std::span<const std::string_view> items, std::vector<int64_t>& rows,
                ItemCount& count) const;
  // Adds bags of the one item that the cell of each line is, or, where it is missing, of
  // `missing_row`, or of none. Returns how many lines were so before the first one that is not: it
  // has a list, or no item, or, unless `may_miss`, is missing.
  size_t AppendOnes(std::span<const LineCells> lines, size_t cell, bool may_miss,
                    std::optional<int64_t> missing_row, FeatureColumn& out, ItemCount& count) const;
  std::string Expected(std::string_view item) const;
  int64_t rows() const { return static_cast<int64_t>(rows_); }  // as given

 private:
  struct Ones;
  // Calls fn(read) with a function bool(item, row, unknown) for items of this kind, so that a loop
  // over many asks for the kind once.
  template <typename Fn>
  void WithReader(Fn&& fn) const;
  bool ReadWhole(std::string_view item, int64_t& row, int64_t& unknown) const;
  bool ReadBoundary(std::string_view item, int64_t& row) const;
  [[gnu::always_inline]] int64_t RowOf(uint64_t value) const {
    const uint64_t shifted = value + shift_;
    if (reciprocal_ != 0 && (value | shifted) >> 32 == 0) {
      __extension__ using Wide = unsigned __int128;
      return static_cast<int64_t>(static_cast<Wide>(reciprocal_ * shifted) * rows_ >> 64);
    }
    return static_cast<int64_t>(TableRow(value, shift_, rows_));
  }
  int64_t RowOfNegative(uint64_t magnitude) const;
  int64_t RowAbove(double number) const;

  IdKind kind_;
  uint64_t rows_, shift_;  // shift: 1 where row 0 stands for missing ids
  // 2^64 / rows, rounded up: two products are the rest of a division of numbers of 32 bits (Lemire,
  // Kaser, Kurz, 2019); 0 where rows have more bits, or are one.
  uint64_t reciprocal_;
  WordTable vocabulary_;
  std::vector<double> boundaries_;
  std::vector<int64_t> small_;  // rows of small whole numbers among the boundaries
};

// The word of a feature's vocabulary that has this row; "" for a row of no word.
std::string WordOfRow(const FeatureEntry& entry, int64_t row);

struct FeatureRule {
  FeatureEntry entry;
  IdRule ids;
  size_t cell;
  std::optional<size_t> weights = {};       // cell of them
  std::optional<int64_t> missing_row = {};  // that stands for a missing cell
  bool one_id = false;                      // a text is one id, and nothing else comes with it
  std::optional<int64_t> max_ids = {};      // of a bag, after max_length
};

struct LabelRule {
  LabelEntry entry;
  size_t cell;
};

// A label of a row that a task does not take.
struct BadLabel {
  size_t label = 0;  // number among the schema's labels
  std::string expected;
};
// Looks at the labels of a row, in the order of the schema.
using LabelCheck = std::function<std::optional<BadLabel>(const float* labels)>;

class RowRules {
 public:
  // `features`: those that tables read, in their order. A row that `check` finds a label in is a
  // bad line. Throws Error for a feature of the schema that is not among them, and for an item that
  // stands for a missing one, but is none.
  RowRules(DataSchema schema, const std::vector<CategoricalFeature>& features,
           LabelCheck check = nullptr);

  const DataSchema& schema() const { return schema_; }
  const RowColumns& layout() const { return layout_; }
  // Columns of the cells, each once.
  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<DenseRule>& dense() const { return dense_; }
  const std::vector<FeatureRule>& features() const { return features_; }
  const std::vector<LabelRule>& labels() const { return labels_; }
  const LabelCheck& label_check() const { return label_check_; }  // may be null
  std::optional<size_t> weight() const { return weight_; }
  std::optional<size_t> time() const { return time_; }

 private:
  size_t CellOf(const std::string& column);
  void AddFeature(const CategoricalFeature& feature);

  DataSchema schema_;
  RowColumns layout_;
  std::vector<std::string> columns_;
  std::map<std::string, size_t> cells_;
  std::vector<DenseRule> dense_;
  std::vector<FeatureRule> features_;
  std::vector<LabelRule> labels_;
  LabelCheck label_check_;
  std::optional<size_t> weight_, time_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_ROW_RULES_H_
