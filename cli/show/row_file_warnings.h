#ifndef TESSERA_CLI_SHOW_ROW_FILE_WARNINGS_H_
#define TESSERA_CLI_SHOW_ROW_FILE_WARNINGS_H_
// Warnings of files of rows that can be read, but hardly are what was meant. Paths may be patterns.
#include <span>
#include <string>
#include <vector>

#include "data/rows/row_rules.h"

namespace tessera::cli {

// Warns of each file, by whatever name, that is there more than once, and of each that has the
// fingerprint (data/files/data_identity.h) of one before it. `and_so` ends the sentences: what
// follows beside rows that count more than once.
void WarnOfRepeatedFiles(const std::vector<std::string>& paths, const std::string& and_so = "");

// Warns of keys that the schema names and none of the first 1,000 rows of JSON (or of the first
// half MiB) has: a row without a key is one whose value is missing, so a misspelled key is no error
// unless its entry makes it one. Of several files, the first that is no pipe or folder is looked
// at. Does nothing for a null schema and other formats, whose columns are checked where they are
// read.
void WarnOfAbsentKeys(const DataSchema* schema, std::span<const CategoricalFeature> features,
                      const std::vector<std::string>& paths);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_ROW_FILE_WARNINGS_H_
