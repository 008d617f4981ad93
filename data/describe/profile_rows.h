#ifndef TESSERA_DATA_DESCRIBE_PROFILE_ROWS_H_
#define TESSERA_DATA_DESCRIBE_PROFILE_ROWS_H_
// Looks at rows of text files that no schema explains yet: columns, separators and what the cells
// hold.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/describe/column_profile.h"
#include "data/schema/data_schema.h"

namespace tessera {

struct ProfileOptions {
  std::vector<std::string> paths;        // plain, .gz or .zst; several are one data set
  std::optional<RowFormat> format = {};  // absent: by the first file's name
  std::optional<char> delimiter = {};    // absent: by its first line
  // Names of the columns of files without a heading; empty: by the first line.
  std::vector<std::string> columns = {};
  std::vector<std::string> null = {};  // texts that mean a missing value
  // Says format, delimiter, columns and null instead, and the separators of columns that it reads.
  std::shared_ptr<const DataSchema> schema = {};
  int64_t most_rows = 1'000'000;  // that are looked at
  // Called now and then with the fraction that is read, and the rows so far.
  std::function<void(double, int64_t)> progress = {};
};

struct RowsProfile {
  // The keys of a schema about the files: format, delimiter, null, and columns where there is no
  // heading.
  DataSchema files;
  int64_t rows = 0;  // that were looked at, bad ones left out
  bool all = false;  // whether there are no more
  int64_t bad_lines = 0;
  std::string first_bad;  // "FILE:LINE: what is wrong"
  std::vector<ColumnProfile> columns;
  // Keys of the first lines of JSON that hold objects, which nothing reads; they are no columns.
  std::vector<std::string> objects = {};
};

// Throws Error for files that cannot be read, whose format is not known, and without a row.
RowsProfile ProfileRows(const ProfileOptions& options);

}  // namespace tessera
#endif  // TESSERA_DATA_DESCRIBE_PROFILE_ROWS_H_
