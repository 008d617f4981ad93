#include "runtime/flags/mistake_text.h"

#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/check.h"

namespace tessera::internal {
namespace {

// The two parts of a text that has `middle` between them.
struct Parts {
  std::string before, after;
};

std::optional<Parts> SplitAt(const std::string& text, std::string_view middle) {
  const size_t at = text.find(middle);
  if (at == std::string::npos) return std::nullopt;
  return Parts{text.substr(0, at), text.substr(at + middle.size())};
}

// "twice", "3 times".
std::string OftenText(const std::string& count) {
  return count == "2" ? "twice" : count + " times";
}

}  // namespace

std::string MistakeText(const std::string& text) {
  if (const auto counts = SplitAt(text, " required but received ")) {
    if (const auto most = SplitAt(counts->before, ": At Most ")) {
      if (most->after == "1")
        return Format("{} is given {}: expected once", most->before, OftenText(counts->after));
      return Format("{}: expected at most {} values, got {}", most->before, most->after,
                    counts->after);
    }
    if (const auto least = SplitAt(counts->before, ": At Least "))
      return Format("{}: expected at least {} values, got {}", least->before, least->after,
                    counts->after);
  }
  if (const auto flag = SplitAt(text, ": 1 required "))
    if (const auto value = SplitAt(flag->after, " missing"); value && value->after.empty())
      return Format("{}: expected {} behind it, got nothing", flag->before, value->before);
  return text;
}

std::string OptionText(std::string text, const std::string& default_value) {
  const std::string newer = " [" + default_value + "] ";
  const size_t at = default_value.empty() ? text.npos : text.find(newer);
  if (at != text.npos) text.replace(at, newer.size(), "=" + default_value);
  return text;
}

}  // namespace tessera::internal
