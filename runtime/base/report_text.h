#ifndef TESSERA_RUNTIME_BASE_REPORT_TEXT_H_
#define TESSERA_RUNTIME_BASE_REPORT_TEXT_H_
// Texts for reports and errors that people read: numbers, bytes with units, tables, markup.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::internal {

// "512 B", "1.5 KiB", "166.4 MiB".
std::string Bytes(int64_t bytes);
// Bytes as a number of GiB, for charts; with three digits ("1.250"), for columns headed "GiB".
double ToGib(int64_t bytes);
std::string Gib(int64_t bytes);
// The nearest number of bytes.
int64_t BytesOfGib(double gib);

// Rounded: "43,210".
std::string WithCommas(double number);
// "1 epoch", "43,210 epochs".
std::string Counted(int64_t number, std::string_view noun);

// Columns padded to the widest cell, in characters of UTF-8: the first to the left, the others to
// the right. The first row is a heading. Each line begins with `indent`.
std::string TextTable(const std::vector<std::vector<std::string>>& rows,
                      const std::string& indent = "");

// `text` for HTML, SVG and XML: its < > & " by their names.
std::string MarkupText(const std::string& text);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_BASE_REPORT_TEXT_H_
