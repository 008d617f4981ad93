#include "data/describe/column_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

namespace tessera::internal {
namespace {

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

template <size_t N>
bool IsOneOf(const std::string& word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "eventTime (UTC)" is event, time, utc.
std::vector<std::string> WordsOf(const std::string& name) {
  std::vector<std::string> words(1);
  bool was_small = false;
  for (const char letter : name) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool begins = !std::isalpha(byte) || (std::isupper(byte) && was_small);
    if (begins && !words.back().empty()) words.emplace_back();
    if (std::isalpha(byte)) words.back() += static_cast<char>(std::tolower(byte));
    was_small = std::islower(byte);
  }
  return words;
}

}  // namespace

bool IsLabelName(const std::string& name) {
  constexpr std::array<std::string_view, 18> kNames = {
      "label",     "labels", "click",  "clicked",   "is_click",  "target",
      "y",         "like",   "liked",  "rating",    "converted", "purchase",
      "purchased", "buy",    "bought", "installed", "watched",   "conversion"};
  return IsOneOf(Lower(name), kNames);
}

bool IsIdName(const std::string& name) {
  constexpr std::array<std::string_view, 12> kNames = {"id",   "ids",  "user",    "item",
                                                       "zip",  "code", "product", "movie",
                                                       "book", "song", "article", "sku"};
  const std::string lower = Lower(name);
  if (IsOneOf(lower, kNames)) return true;
  if (name.ends_with("Id") || name.ends_with("ID") || name.ends_with("Ids")) return true;
  for (const std::string_view word : {"id", "ids", "code", "idx"})
    if (lower.ends_with("_" + std::string(word))) return true;
  return false;
}

bool IsTimeName(const std::string& name) {
  constexpr std::array<std::string_view, 8> kNames = {
      "time", "timestamp", "ts", "unixtime", "eventtime", "unixtimestamp", "datetime", "epoch"};
  std::string joined;
  for (const std::string& word : WordsOf(name)) joined += word;
  return IsOneOf(joined, kNames);
}

bool HasTimeWord(const std::string& name) {
  constexpr std::array<std::string_view, 11> kWords = {"time",     "timestamp", "ts",   "date",
                                                       "datetime", "day",       "unix", "unixtime",
                                                       "epoch",    "when",      "at"};
  return std::ranges::any_of(WordsOf(name),
                             [&](const std::string& word) { return IsOneOf(word, kWords); });
}

}  // namespace tessera::internal
