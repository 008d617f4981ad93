#include "runtime/base/check.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace tessera {

std::string FormatMessage(std::string_view pattern, std::initializer_list<FormatArg> args) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const FormatArg& arg : args)
    std::visit([&](const auto& value) { store.push_back(value); }, arg.value());
  return fmt::vformat(fmt::string_view(pattern.data(), pattern.size()), store);
}

namespace internal {

namespace {

// The words for what a comparison asks of its left side: "at least 2".
std::string Asked(std::string_view op, const std::string& b) {
  const char* words = op == "=="   ? ""
                      : op == "!=" ? "other than "
                      : op == "<"  ? "below "
                      : op == "<=" ? "at most "
                      : op == ">"  ? "above "
                                   : "at least ";
  return words + b;
}

}  // namespace

// Headers come by "./" where a program is compiled beside them.
void ThrowError(const char* file, int line, const std::string& what) {
  const std::string_view place = file;
  throw Error(
      fmt::format("{} ({}:{})", what, place.starts_with("./") ? place.substr(2) : place, line));
}

void FailCheck(const char* file, int line, const char* condition, const std::string& message) {
  ThrowError(file, line, message.empty() ? fmt::format("expected {}", condition) : message);
}

void FailComparison(const char* file, int line, const char* a, const char* op, const char* b,
                    const FormatArg& a_value, const FormatArg& b_value,
                    const std::string& message) {
  const std::string left = FormatMessage("{}", {a_value}), right = FormatMessage("{}", {b_value});
  ThrowError(file, line,
             message.empty()
                 ? fmt::format("expected {} {} {}, got {} and {}", a, op, b, left, right)
                 : fmt::format("{}: expected {}, got {}", message, Asked(op, right), left));
}

}  // namespace internal
}  // namespace tessera
