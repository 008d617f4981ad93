#include "cli/show/error_text.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <regex>
#include <string_view>

#include "runtime/base/check.h"

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

template <typename T>
std::string Expected(const char* what, T low, T high, const std::string& got) {
  const bool open = high == std::numeric_limits<T>::max();
  return Format("expected a {} {}, got '{}'", what,
                open ? Format("of at least {}", low) : Format("from {} to {}", low, high), got);
}

// "twice", "3 times".
std::string OftenText(const std::string& count) {
  return count == "2" ? "twice" : count + " times";
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

std::string NumberExpected(int64_t low, int64_t high, const std::string& got) {
  return Expected("whole number", low, high, got);
}

std::string NumberExpected(double low, double high, const std::string& got) {
  return Expected("number", low, high, got);
}

std::string MistakeText(const std::string& text) {
  std::smatch match;
  if (std::regex_match(text, match, std::regex("(.*): At Most 1 required but received ([0-9]+)")))
    return Format("{} is given {}: expected once", match.str(1), OftenText(match.str(2)));
  if (std::regex_match(text, match,
                       std::regex("(.*): At (Most|Least) ([0-9]+) required but "
                                  "received ([0-9]+)")))
    return Format("{}: expected at {} {} values, got {}", match.str(1),
                  match.str(2) == "Most" ? "most" : "least", match.str(3), match.str(4));
  if (std::regex_match(text, match, std::regex("(.*): 1 required (.*) missing")))
    return Format("{}: expected {} behind it, got nothing", match.str(1), match.str(2));
  return text;
}

}  // namespace tessera::cli
