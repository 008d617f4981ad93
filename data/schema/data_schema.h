#ifndef TESSERA_DATA_SCHEMA_DATA_SCHEMA_H_
#define TESSERA_DATA_SCHEMA_DATA_SCHEMA_H_
// The meaning of the columns of a user's own files: the "data" of a configuration whose format is
// jsonl, csv, tsv or npz. docs/guide/data.md explains every key.
//
//   {"format", "columns": [names], "delimiter", "null": text or [texts],
//    "dense":    [{"name", "from", "missing", "transform", "normalize": [mean, deviation], "size",
//                  "separator"}, …],
//    "features": [{"name", "from", "missing", "ids" or "vocabulary" or "boundaries", "separator",
//                  "weights" or "weight_after", "drop_last", "max_length", "keep"}, …],
//    "labels":   [{"name", "from", "missing", "at_least"}, …],
//    "weight": column, "time": column}
//
// An entry that is a name alone has defaults for all other keys.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/schema/dense_transform.h"

namespace tessera {

enum class RowFormat { kJsonl, kCsv, kTsv, kNpz };
std::string ToString(RowFormat format);  // "jsonl", "csv", "tsv", "npz"

// Characters that people put between columns.
inline constexpr std::string_view kUsualDelimiters = ",;\t|";

struct DenseEntry {
  std::string name = {}, from = {};
  std::optional<double> missing = 0;  // absent: an error
  DenseTransform transform = {DenseTransform::Kind::kAsIs};
  std::optional<std::pair<double, double>> normalize = {};  // mean, deviation; after the transform
  int64_t size = 1;                                         // numbers of it
  std::string separator = {};                               // "": a text is one number
};

// The kinds of items that a feature can have.
enum class IdKind { kInt, kHex, kText, kVocabulary, kBoundaries };
std::string ToString(IdKind kind);

enum class MissingFeature { kEmptyBag, kRow0, kError, kItem };

struct FeatureEntry {
  std::string name = {}, from = {};
  MissingFeature missing = MissingFeature::kEmptyBag;
  std::string missing_item = {};  // of kItem: the text that stands for it
  IdKind ids = IdKind::kInt;
  std::vector<std::string> vocabulary = {};
  std::vector<double> boundaries = {};
  std::string separator = {};     // "": a text is one item
  std::string weights = {};       // a column; "": none
  std::string weight_after = {};  // between an id and its weight; "": none
  int64_t drop_last = 0;
  std::optional<int64_t> max_length = {};
  bool keep_last = false;  // else the first ones

  bool weighted() const { return !weights.empty() || !weight_after.empty(); }
  // Rows that a table needs so that no two ids share one; nullopt where ids may be any.
  std::optional<int64_t> RowsNeeded() const;
};

struct LabelEntry {
  enum class Missing { kError, kSkip, kNumber };
  std::string name = {}, from = {};
  Missing missing = Missing::kError;
  double missing_number = 0;
  std::optional<double> at_least = {};
};

struct DataSchema {
  RowFormat format = RowFormat::kJsonl;
  std::vector<std::string> columns = {};  // of csv and tsv; empty: the first line says them
  char delimiter = ',';                   // of csv and tsv
  std::vector<std::string> null = {};     // texts that mean a missing value
  std::vector<DenseEntry> dense = {};
  std::vector<FeatureEntry> features = {};
  std::vector<LabelEntry> labels = {};
  std::string weight = {}, time = {};  // columns; "": none

  // Whether lines are read, and not arrays.
  bool is_text() const { return format != RowFormat::kNpz; }
  // Numbers of a row.
  int64_t dense_size() const;
  // The entry of a feature; one of defaults where the schema does not list it.
  FeatureEntry Feature(const std::string& name) const;
  // Throws Error for an entry whose feature is not among those that tables read.
  void CheckFeaturesRead(const std::vector<std::string>& read) const;
};

// Parses a document as above; what is wrong is named as "data.features[0].keep: …". A vocabulary
// may be the name of a file with a word a line. Throws Error.
DataSchema ParseDataSchema(const std::string& json);

}  // namespace tessera
#endif  // TESSERA_DATA_SCHEMA_DATA_SCHEMA_H_
