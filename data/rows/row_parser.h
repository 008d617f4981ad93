#ifndef TESSERA_DATA_ROWS_ROW_PARSER_H_
#define TESSERA_DATA_ROWS_ROW_PARSER_H_
// From the cells of lines to rows: the rules that are the same for all formats of text.
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/rows/line_cells.h"
#include "data/rows/row_block.h"
#include "data/rows/row_rules.h"

namespace tessera {

class RowParser {
 public:
  explicit RowParser(std::shared_ptr<const RowRules> rules) : rules_(std::move(rules)) {}

  // Empties a block, for Append, and makes room for so many rows.
  void Begin(RowBlock& block, int64_t rows) const { block.Clear(rules_->layout(), rows); }
  // Adds the rows with these numbers, a column after the other, which is faster than a row after
  // the other. Throws BadLine where a line is bad, of several bad ones for any, and adds nothing
  // then. REQUIRES: as many numbers as lines.
  void Append(std::span<const LineCells> lines, const CellPlaces& places,
              std::span<const int64_t> numbers, RowBlock& block);
  // Takes back the row that was appended last, alone.
  void TakeBack(RowBlock& block) const;
  // Throws BadLine, which names the feature and the item, if the row that was appended last has an
  // item without an id of its own: a whole number that is no row of its table, and so was taken
  // modulo the table's rows, or a word outside the vocabulary.
  void CheckKnown();

 private:
  static constexpr char kExpectedNumber[] = "expected a number";

  // The items of a cell that is not missing. Valid until the next call.
  struct Items {
    std::span<const std::string_view> texts;
    bool listed;  // else one text, which is no item of a list
  };
  Items ItemsOf(size_t cell, const std::string& separator, std::vector<std::string_view>& scratch);
  std::string Place(size_t cell, const Items& items, size_t item) const;
  // `expected`: what an error says of a text that is no number.
  double Number(std::string_view text, size_t cell, const Items& items, size_t item,
                const char* expected = kExpectedNumber) const;
  std::string_view OneText(size_t cell);
  double OneNumber(size_t cell, const char* expected = kExpectedNumber);

  // Adds the rows of all lines, or throws.
  void AddRows(std::span<const LineCells> lines, RowBlock& block);
  void AddDense(std::span<const LineCells> lines, std::vector<float>& out);
  void AddLabels(std::span<const LineCells> lines, std::vector<float>& out);
  void CheckLabels(const float* labels);  // of a row
  void SetNumbers(const DenseRule& rule, float* out);
  // Adds bags of one item, up to the first line whose cell is none. Returns how many lines.
  static size_t AddOnes(std::span<const LineCells> lines, const FeatureRule& rule,
                        FeatureColumn& out, ItemCount& count);
  void AddFeature(std::span<const LineCells> lines, const FeatureRule& rule, FeatureColumn& out,
                  ItemCount& count);
  void AddBag(const FeatureRule& rule, FeatureColumn& out, ItemCount& count);
  void AddMissing(const FeatureRule& rule, FeatureColumn& out);
  // Adds the ids of the items that are kept, and leaves their weights, which are there, alone.
  void AddItems(const FeatureRule& rule, const Items& items, FeatureColumn& out, ItemCount& count);
  void AddWeights(const FeatureRule& rule, size_t count, FeatureColumn& out);
  // Adds the weights after the ids; returns the ids.
  Items CutWeights(const FeatureRule& rule, const Items& items, FeatureColumn& out);
  float Label(const LabelRule& rule);
  float ExampleWeight(size_t cell);
  int64_t Time(size_t cell);

  std::shared_ptr<const RowRules> rules_;
  const LineCells* cells_ = nullptr;  // of the line that is read
  const CellPlaces* places_ = nullptr;
  std::vector<std::string_view> items_, weight_items_;  // scratch
  std::vector<ItemCount> counts_;                       // of the block, before the last Append
};

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_ROW_PARSER_H_
