#include "cli/show/error_text.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace tessera::cli {
namespace {

// Whether the text is a place in the source: "embedding/lookup/lookup.cc:41".
bool IsPlace(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return false;
  const std::string_view file = text.substr(0, colon), line = text.substr(colon + 1);
  const bool is_number =
      std::all_of(line.begin(), line.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  const bool is_source = file.ends_with(".h") || file.ends_with(".cc") || file.ends_with(".cu") ||
                         file.ends_with(".cuh");
  return is_number && is_source && file.find_first_of(" ()") == std::string_view::npos;
}

}  // namespace

std::string ErrorText(const std::exception& error) {
  std::string text = error.what();
  for (size_t open = text.find(" ("); open != std::string::npos; open = text.find(" (", open)) {
    const size_t close = text.find(')', open);
    if (close == std::string::npos) break;
    if (IsPlace(std::string_view(text).substr(open + 2, close - open - 2)))
      text.erase(open, close + 1 - open);
    else
      ++open;
  }
  return text;
}

}  // namespace tessera::cli
