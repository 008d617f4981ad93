#include "data/rows/json_rows.h"

#include "data/rows/bad_line.h"
#include "data/rows/json_cells.h"
#include "data/rows/line_cells.h"
#include "data/rows/row_parser.h"
#include "runtime/base/check.h"
#include "runtime/base/report_text.h"

namespace tessera {
namespace {

// An object that has keys, but none that is read, is no row of these.
void CheckKeys(const JsonCells& json, const std::vector<std::string>& keys) {
  if (const auto stray = json.StrayKey())
    throw BadLine(Format("expected at least one of the keys {}", ListedColumns(keys)),
                  ShownText(*stray));
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
                   const std::string& where, int64_t most_rows, UnknownItems* unknown,
                   bool strict) {
  TESSERA_CHECK(rules->schema().format == RowFormat::kJsonl, "rows of JSON need rules of jsonl");
  std::string padded(text);
  padded.append(JsonCells::kPadding, '\0');
  std::string_view left = std::string_view(padded).substr(0, text.size());
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
