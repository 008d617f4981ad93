#include "runtime/base/check.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <cstring>

namespace tessera {

std::string FormatMessage(std::string_view pattern, std::initializer_list<FormatArg> args) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const FormatArg& arg : args)
    std::visit([&](const auto& value) { store.push_back(value); }, arg.value());
  return fmt::vformat(fmt::string_view(pattern.data(), pattern.size()), store);
}

namespace internal {

void ThrowError(const char* file, int line, const std::string& what) {
  throw Error(fmt::format("{} ({}:{})", what, file, line));
}

void FailCheck(const char* file, int line, const char* condition, const std::string& message) {
  ThrowError(file, line, message.empty() ? fmt::format("expected {}", condition) : message);
}

void FailComparison(const char* file, int line, const char* a, const char* op, const char* b,
                    const FormatArg& a_value, const FormatArg& b_value,
                    const std::string& message) {
  const std::string prefix = message.empty() ? "" : message + ": ";
  ThrowError(
      file, line,
      prefix + FormatMessage("expected {} {} {}, got {} and {}",
                             {std::string_view(a), std::string_view(op), std::string_view(b),
                              FormatMessage("{}", {a_value}), FormatMessage("{}", {b_value})}));
}

}  // namespace internal
}  // namespace tessera
