#ifndef TESSERA_DATA_FILES_CRITEO_LINE_H_
#define TESSERA_DATA_FILES_CRITEO_LINE_H_
// One line of a Criteo file, both ways: label, 13 integers, 26 hexadecimal values, separated by
// tabs; an empty column is a missing value. A label is 0 or 1, an integer is decimal and may be
// negative, a value has at most 16 digits.
#include <optional>
#include <string>
#include <string_view>

#include "data/click_row.h"

namespace tessera {

// An error of a line.
struct CriteoLineError {
  int column = 0;        // 0-based
  const char* expected;  // "an integer", …
};

// Fills `row` from a line without its end. On an error `row` is left half filled.
std::optional<CriteoLineError> ParseCriteoLine(std::string_view line, ClickRow& row);

// "column 3 (integer 2): expected an integer, got 'x'" for an error that `line` gave.
std::string Describe(const CriteoLineError& error, std::string_view line);

// Appends the line, with "\n", that ParseCriteoLine reads as `row`. Values are written as 8
// hexadecimal digits, or 16 where they need more.
void AppendCriteoLine(const ClickRow& row, std::string& text);

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_CRITEO_LINE_H_
