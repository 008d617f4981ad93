#ifndef TESSERA_DATA_PREPROCESS_RAW_INPUT_H_
#define TESSERA_DATA_PREPROCESS_RAW_INPUT_H_
// Inputs of preprocessing: Criteo text, an npy day, or a row folder, read row by row.
//
// Of text, a missing number is 0. A missing id is 0 too; with MissingValues::kOwn the value v is
// then v + 1, so that training takes the ids that it makes of text itself ((1 + v) mod rows); with
// kZero the value v is v, and a missing one can't be told from the value 0, as in TorchRec.
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

enum class MissingValues { kOwn, kZero };
std::string ToString(MissingValues missing);  // "own", "zero"
MissingValues ParseMissingValues(const std::string& name);

struct RawRow {
  float label = 0;
  std::vector<double> dense;
  std::vector<int64_t> ids;
};

class RawInput {
 public:
  virtual ~RawInput() = default;
  // Fills a row; false after the last one. Throws Error, with file and line or row, for bad data.
  virtual bool Next(RawRow& row) = 0;
  // About what share was given out, 0 to 1; absent where nobody knows.
  virtual std::optional<double> fraction() const = 0;
  // Place of the last row, for errors.
  virtual std::string where() const = 0;
  virtual int64_t skipped_rows() const { return 0; }
  // Whether numbers are still what was counted, so that a logarithm may be taken.
  virtual bool is_text() const = 0;

  virtual int64_t dense_columns() const = 0;
  virtual std::vector<std::string> id_columns() const = 0;
};

// Throws Error for a path that cannot be read, and for Parquet, which no library here reads.
std::unique_ptr<RawInput> OpenRawInput(const std::string& path, MissingValues missing,
                                       bool skip_bad_lines);

// Returns the name of an output made of this input: the path without folders and known ends
// ("day_0" of data/day_0.tsv.gz or data/day_0_dense.npy).
std::string InputName(const std::string& path);

}  // namespace tessera
#endif  // TESSERA_DATA_PREPROCESS_RAW_INPUT_H_
