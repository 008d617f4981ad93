#include "data/schema/name_ranges.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr int64_t kMaxNames = 1'000'000;

struct Range {
  size_t open = 0, close = 0;  // of the braces in the name
  int64_t first = 0, last = 0;
};

// The digits that `text` is; nullopt for anything else.
std::optional<int64_t> Digits(std::string_view text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

// The last {A..B} of a name.
std::optional<Range> FindRange(std::string_view name) {
  const size_t open = name.rfind('{');
  if (open == name.npos) return std::nullopt;
  const size_t close = name.find('}', open), dots = name.find("..", open);
  if (close == name.npos || dots == name.npos || dots > close) return std::nullopt;
  const auto first = Digits(name.substr(open + 1, dots - open - 1));
  const auto last = Digits(name.substr(dots + 2, close - dots - 2));
  if (!first || !last) return std::nullopt;
  return Range{open, close, *first, *last};
}

}  // namespace

std::vector<std::string> ExpandNames(const std::string& name, const std::string& where) {
  const std::optional<Range> range = FindRange(name);
  if (!range) return {name};
  if (range->last < range->first)
    throw Error(Format("{}: expected a range that does not fall, got '{}'", where, name));
  if (range->last - range->first >= kMaxNames)
    throw Error(
        Format("{}: expected a range of at most {} names, got '{}'", where, kMaxNames, name));
  std::vector<std::string> names;
  for (int64_t i = range->first; i <= range->last; ++i)
    names.push_back(
        Format("{}{}{}", name.substr(0, range->open), i, name.substr(range->close + 1)));
  return names;
}

}  // namespace tessera
