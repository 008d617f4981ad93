#ifndef TESSERA_CLI_NUMBERS_H_
#define TESSERA_CLI_NUMBERS_H_
// Numbers as people read them.
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::cli {

// Rounded: "43,210".
std::string WithCommas(double number);
// "0:12", "1:02:03".
std::string Duration(double seconds);
// "512 B", "1.5 KiB", "166.4 MiB".
std::string Bytes(int64_t bytes);
// A fraction as "[######------------------]".
std::string Bar(double fraction);
// With `digits` after the point; "-" for NaN.
std::string Fixed(double number, int digits);

// Columns padded to the widest cell: the first to the left, the others to the right. The first row
// is a heading.
std::string TextTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_NUMBERS_H_
