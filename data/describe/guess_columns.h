#ifndef TESSERA_DATA_DESCRIBE_GUESS_COLUMNS_H_
#define TESSERA_DATA_DESCRIBE_GUESS_COLUMNS_H_
// Guesses how files are laid out, from their names and first lines. Each guess is written into the
// proposed schema, where a person sees it.
#include <string>
#include <vector>

#include "data/describe/profile_rows.h"

namespace tessera {

// The first lines of all files together.
struct FirstLines {
  std::vector<std::string> lines;
  std::string path;  // of the file that begins with the first one
};

// Format, delimiter, null and columns. Throws Error for a name whose ending tells no format.
DataSchema GuessFiles(const ProfileOptions& options, const std::string& first_line);

// Names of the columns: of the heading, or of all keys of the lines of JSON. Where the first line
// has a number among its cells it is no heading: the columns are column_1, column_2, …, and
// files.columns says so. `has_heading`: it is one whatever it has, unless files.columns are given.
// REQUIRES: a line.
std::vector<std::string> GuessColumns(const FirstLines& first, bool has_heading, DataSchema& files);

// Keys of lines of JSON that hold objects, and nothing else but null: they are no columns.
std::vector<std::string> KeysOfObjects(const FirstLines& first);

// The separator of the texts of a column; "" where a text is one item. `delimiter`: between the
// file's columns.
std::string GuessSeparator(const std::vector<std::string>& texts, char delimiter);
// ":" where every item of the texts is an id, ":" and a weight; else "".
std::string GuessWeightMark(const std::vector<std::string>& texts, const std::string& separator);

}  // namespace tessera
#endif  // TESSERA_DATA_DESCRIBE_GUESS_COLUMNS_H_
