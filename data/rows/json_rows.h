#ifndef TESSERA_DATA_ROWS_JSON_ROWS_H_
#define TESSERA_DATA_ROWS_JSON_ROWS_H_
// Rows of JSON that are in memory: an object a line, as files of the format jsonl have them.
#include <memory>
#include <string>
#include <string_view>

#include "data/data_source.h"
#include "data/rows/row_rules.h"
#include "data/rows/unknown_items.h"
#include "runtime/context.h"

namespace tessera {

struct OneValueCells;

// The rows of `text`, in their order, as one batch. A byte order mark before the first line is left
// out, and the last line may lack its end. Throws Error "WHERE:LINE: what was expected, what came"
// for the first line that is bad, for a line after `most_rows`, and for a text without lines. Keys
// that are not read are passed over, but an object of such keys alone is bad. `unknown`, if any,
// counts the items, also of rows that are then refused. With `strict`, a whole number that is no
// row of its table and a word outside its vocabulary are bad, too; with `one_value`, so is what it
// rules out. REQUIRES: rules of jsonl.
Batch ReadJsonRows(Context& ctx, std::shared_ptr<const RowRules> rules, std::string_view text,
                   const std::string& where, int64_t most_rows, UnknownItems* unknown = nullptr,
                   bool strict = false, const OneValueCells* one_value = nullptr);

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_JSON_ROWS_H_
