#ifndef TESSERA_CLI_SHOW_NUMBERS_H_
#define TESSERA_CLI_SHOW_NUMBERS_H_
// Numbers as people read them.
#include <cstdint>
#include <string>

#include "runtime/base/report_text.h"

namespace tessera::cli {

using internal::Bytes;
using internal::Counted;
using internal::TextTable;
using internal::WithCommas;

// A whole number with commas: "43,210".
inline std::string Count(int64_t number) { return WithCommas(static_cast<double>(number)); }
// A part of all: "12 %"; "< 1 %" for little more than none.
std::string Share(int64_t part, int64_t all);
// "0:12", "1:02:03".
std::string Duration(double seconds);
// A fraction as "[######------------------]".
std::string Bar(double fraction);
// Formats with `digits` after the point; "-" for NaN.
std::string Fixed(double number, int digits);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_NUMBERS_H_
