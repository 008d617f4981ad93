#include "runtime/base/check.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace tessera {

namespace {

using Values = fmt::dynamic_format_arg_store<fmt::format_context>;

template <typename T>
void PushValue(const T& value, Values& values) {
  if constexpr (std::is_same_v<T, char>)
    values.push_back(std::string(1, value));  // takes a string's widths and sides
  else if constexpr (std::is_same_v<T, FormatArg::Object>)
    values.push_back(value.to_string(value.object));
  else
    values.push_back(value);
}

}  // namespace

std::string FormatMessage(std::string_view pattern, std::initializer_list<FormatArg> args) {
  Values store;
  for (const FormatArg& arg : args)
    std::visit([&](const auto& value) { PushValue(value, store); }, arg.value());
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

void ThrowFailedCheck(const char* file, int line, const char* condition, std::string_view pattern,
                      std::initializer_list<FormatArg> args) {
  ThrowError(
      file, line,
      pattern.empty() ? fmt::format("expected {}", condition) : FormatMessage(pattern, args));
}

void ThrowFailedComparison(const char* file, int line, const char* a, const char* op, const char* b,
                           const FormatArg& a_value, const FormatArg& b_value,
                           std::string_view pattern, std::initializer_list<FormatArg> args) {
  const std::string left = FormatMessage("{}", {a_value}), right = FormatMessage("{}", {b_value});
  ThrowError(file, line,
             pattern.empty()
                 ? fmt::format("expected {} {} {}, got {} and {}", a, op, b, left, right)
                 : fmt::format("{}: expected {}, got {}", FormatMessage(pattern, args),
                               Asked(op, right), left));
}

}  // namespace internal
}  // namespace tessera
