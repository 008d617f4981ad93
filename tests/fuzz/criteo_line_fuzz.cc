// Lines of a Criteo file: a row that is read is written and read again.
#include "data/files/criteo_line.h"
#include "tests/fuzz/fuzz.h"

namespace tessera::fuzz {
namespace {

void ReadLine(std::string_view line) {
  ClickRow row;
  if (const auto error = ParseCriteoLine(line, row)) {
    if (Describe(*error, line).empty()) __builtin_trap();
    return;
  }
  std::string text;
  AppendCriteoLine(row, text);
  ClickRow again;
  if (ParseCriteoLine(std::string_view(text).substr(0, text.size() - 1), again) || !(again == row))
    __builtin_trap();
}

}  // namespace

std::vector<std::string> Seeds() {
  ClickRow row;
  row.label = 1;
  row.integers_present = 0x1ff7;
  row.categories_present = 0x3ffeff;
  for (int i = 0; i < ClickRow::kIntegers; ++i)
    if (row.has_integer(i)) row.integers[i] = i * i * 1000 - 5;
  for (int i = 0; i < ClickRow::kCategories; ++i)
    if (row.has_category(i)) row.categories[i] = 0x9e3779b97f4a7c15ull >> (2 * i);
  std::string full, empty;
  AppendCriteoLine(row, full);
  AppendCriteoLine(ClickRow{}, empty);
  return {full, empty, full + full};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera::fuzz;
  for (std::string_view text = AsText(data, size); !text.empty();) {
    const size_t end = std::min(text.find('\n'), text.size());
    ReadLine(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return 0;
}
