#ifndef TESSERA_DATA_ROWS_JSON_CELLS_H_
#define TESSERA_DATA_ROWS_JSON_CELLS_H_
// Lines of JSON as cells: an object a line, valid JSON to its end. null, "" and a key that is not
// there are missing; a number is its digits as they are written; true is 1, false is 0; a list is a
// list of such. Keys that nobody asks for may hold anything.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/rows/line_cells.h"

namespace tessera {

class JsonCells {
 public:
  // Bytes after a line that are there to be read, whatever they are.
  static constexpr size_t kPadding = 64;

  // `keys`: the columns of the cells. A text that is one of `null` is missing, too.
  JsonCells(std::vector<std::string> keys, std::vector<std::string> null);
  ~JsonCells();
  JsonCells(const JsonCells&) = delete;
  JsonCells& operator=(const JsonCells&) = delete;

  // Fills `out`, whose texts are valid until the next call. Throws BadLine, which names the column
  // where a line stops being JSON. REQUIRES: kPadding bytes after the line.
  void Read(std::string_view line, LineCells& out);
  // The first key of the line that Read was given last, if none of its keys is one of `keys`;
  // nullopt for an object without keys. Valid as the texts are.
  std::optional<std::string_view> StrayKey() const;

 private:
  struct Reader;  // hides simdjson
  std::unique_ptr<Reader> reader_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_JSON_CELLS_H_
