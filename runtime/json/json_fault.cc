#include "runtime/json/json_fault.h"

#include "runtime/json/json_object.h"

namespace tessera::internal {
namespace {

// Takes what is wrong from "… parse error at line 1, column 8: syntax error while parsing value -
// invalid literal; last read: '{\"a\" tru'; expected ':'", without the place and the text, which
// callers show. "" for an error of another kind: a number that no double holds.
std::string WhatIsWrong(std::string_view message) {
  const size_t syntax = message.find(": syntax error ");
  if (syntax == message.npos) return "";
  const size_t dash = message.find(" - ", syntax);
  std::string_view what = message.substr(dash == message.npos ? syntax + 2 : dash + 3);
  const size_t read = what.find("; last read: ");
  if (read == what.npos) return std::string(what);
  const size_t expected = what.rfind("; expected ");
  const bool has_expected = expected != what.npos && expected > read;
  return std::string(what.substr(0, read)) +
         std::string(has_expected ? what.substr(expected) : std::string_view());
}

// The callbacks of nlohmann's parser, under its names; nothing is kept of what is good.
struct FaultFinder {
  std::optional<JsonFault> fault;

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(int64_t) { return true; }
  bool number_unsigned(uint64_t) { return true; }
  bool number_float(double, const std::string&) { return true; }
  bool string(std::string&) { return true; }
  bool binary(Json::binary_t&) { return true; }
  bool start_object(size_t) { return true; }
  bool start_array(size_t) { return true; }
  bool end_object() { return true; }
  bool end_array() { return true; }
  bool key(std::string&) { return true; }
  template <typename Exception>
  bool parse_error(size_t column, const std::string&, const Exception& error) {
    if (std::string what = WhatIsWrong(error.what()); !what.empty())
      fault = JsonFault{column, std::move(what)};
    return false;
  }
};

}  // namespace

std::optional<JsonFault> FindJsonFault(std::string_view text) {
  // Each version of the parser has words of its own for this.
  if (text.empty()) return JsonFault{1, "unexpected end of input; expected '[', '{', or a literal"};
  FaultFinder finder;
  Json::sax_parse(text.begin(), text.end(), &finder);
  return finder.fault;
}

}  // namespace tessera::internal
