#ifndef TESSERA_SERVE_RAW_ROWS_H_
#define TESSERA_SERVE_RAW_ROWS_H_
// Rows as they are before a model's training makes numbers of them: a JSON object each, with names,
// texts and missing keys, read by the schema of the training's data.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/rows/request_schema.h"
#include "data/rows/row_rules.h"
#include "data/rows/unknown_items.h"
#include "serve/model_spec.h"
#include "serve/predict_request.h"

namespace tessera::serve {

// The features that rows bring for a model's tables, in the order of ModelSpec::Features.
std::vector<CategoricalFeature> RowFeatures(const ModelSpec& spec);

// A request of rows that were read as another model reads them: numbers of other meaning.
class ReadOtherwise : public Error {
 public:
  using Error::Error;
};

// Any thread may use it; nothing in it changes but counts of items.
class RawRows {
 public:
  explicit RawRows(const ModelSpec& spec);

  // The rows of `lines`, a JSON object a line, as a request, of the same bits as training's rows.
  // Throws Error "WHERE:LINE: what was expected, what came" for a bad line, for more rows than one
  // request may have, and for a model that does not say how its rows are read, or whose rows
  // tessera preprocess had changed before (data/files/row_preparation.h); with `strict`, also for a
  // whole number that is no row of its table, and for a word outside its vocabulary.
  PredictRequest Read(std::string_view lines, const std::string& where, bool strict = false) const;
  // Models of one number make the same request of the same rows, in this process; never 0.
  uint64_t reading() const { return reading_; }
  // Keys of the objects; none where rows are not read.
  std::vector<std::string> keys() const;
  // Counts of the items of all rows that were read.
  const UnknownItems& unknown_items() const { return *unknown_items_; }

 private:
  std::shared_ptr<const RowRules> rules_;   // null: of rows that no file has, unknown or changed
  std::string why_none_;                    // rules_ are null
  std::optional<OneValueCells> one_value_;  // of formats whose files have no lists
  int64_t zeros_ = 0;  // numbers of a row that are always 0, which ratings bring
  int64_t most_rows_ = 0;
  uint64_t reading_ = 1;
  std::unique_ptr<UnknownItems> unknown_items_ = std::make_unique<UnknownItems>();
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_RAW_ROWS_H_
