#include "data/rows/json_rows.h"

#include <algorithm>

#include "data/rows/bad_line.h"
#include "data/rows/json_cells.h"
#include "data/rows/line_cells.h"
#include "data/rows/number_text.h"
#include "data/rows/request_schema.h"
#include "data/rows/row_parser.h"
#include "runtime/base/check.h"
#include "runtime/base/report_text.h"
#include "runtime/json/utf8.h"

namespace tessera {
namespace {

// An object that has keys, but none that is read, is no row of these.
void CheckKeys(const JsonCells& json, const std::vector<std::string>& keys) {
  if (const auto stray = json.StrayKey())
    throw BadLine(Format("expected at least one of the keys {}", ListedColumns(keys)),
                  ShownText(*stray));
}

// Whether the text is an integer of at most 18 digits.
bool IsInteger(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.size() <= 18 && std::ranges::all_of(text, internal::IsDigit);
}

void CheckOneValue(const OneValueCells& one_value, const LineCells& cells,
                   const CellPlaces& places) {
  for (size_t i = 0; i < cells.cells.size(); ++i) {
    const LineCell& cell = cells.cells[i];
    if (cell.kind == LineCell::Kind::kList)
      throw BadLine(places.Of(i), "expected one value",
                    "a list of " + internal::Counted(cell.count, "item"));
    const bool integer = std::ranges::count(one_value.integers, places.name(i)) > 0;
    if (integer && cell.kind == LineCell::Kind::kText && !IsInteger(cell.text()))
      throw BadLine(places.Of(i), "expected an integer", ShownText(cell.text()));
  }
}

// Describes the item without an id of its own of the row that was appended last; "" if there is
// none.
std::string StrayItem(RowParser& parser, const std::string& where, int64_t row) {
  try {
    parser.CheckKnown();
    return "";
  } catch (const BadLine& bad) {
    return Format("{}:{}: {}", where, row + 1, bad.what());
  }
}

}  // namespace

Batch ReadJsonRows(Context& ctx, std::shared_ptr<const RowRules> rules, std::string_view text,
                   const std::string& where, int64_t most_rows, UnknownItems* unknown, bool strict,
                   const OneValueCells* one_value) {
  TESSERA_CHECK(rules->schema().format == RowFormat::kJsonl, "rows of JSON need rules of jsonl");
  std::string padded(text);
  padded.append(JsonCells::kPadding, '\0');
  std::string_view left =
      internal::WithoutByteOrderMark(std::string_view(padded).substr(0, text.size()));
  JsonCells json(rules->columns(), rules->schema().null);
  const CellPlaces places(rules->columns());
  LineCells cells;
  cells.cells.resize(rules->columns().size());
  RowParser parser(rules);
  RowBlock block;
  parser.Begin(block, 0);
  std::string stray;  // the first item without an id of its own
  for (int64_t row = 0; !left.empty(); ++row) {
    try {
      if (row == most_rows)
        throw BadLine("expected at most " + internal::Counted(most_rows, "row"));
      json.Read(TakeLine(left), cells);
      CheckKeys(json, rules->columns());
      if (one_value != nullptr) CheckOneValue(*one_value, cells, places);
      parser.Append({&cells, 1}, places, {&row, 1}, block);
      if (strict && stray.empty()) stray = StrayItem(parser, where, row);
    } catch (const BadLine& bad) {
      throw Error(Format("{}:{}: {}", where, row + 1, bad.what()));
    }
  }
  if (block.rows() == 0) throw Error(Format("{}: expected a JSON object a line, got none", where));
  if (unknown != nullptr) unknown->Add(*rules, block);
  if (!stray.empty()) throw Error(stray);
  const RowRun all{.block = &block, .begin = 0, .end = block.rows()};
  return BatchOfRuns(ctx, rules->layout(), std::span(&all, 1));
}

}  // namespace tessera
