#include "tools/ptx/text.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ptx {
namespace {

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

uint64_t Number(std::string_view digits, int base) {
  uint64_t n = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), n, base);
  return n;
}

}  // namespace

std::string Demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return plain ? plain.get() : name;
}

std::string PlainName(const std::string& name) {
  std::string plain = Demangled(name);
  if (plain == name) return name;
  // The parameters are the last brackets.
  size_t open = plain.rfind(')');
  for (int depth = 0; open != std::string::npos && open > 0; --open) {
    depth += plain[open] == ')' ? 1 : plain[open] == '(' ? -1 : 0;
    if (depth == 0) break;
  }
  if (open != std::string::npos) plain.erase(open);
  return plain.starts_with("void ") ? plain.substr(5) : plain;
}

Type TypeNamed(std::string_view name) {
  static const std::map<std::string_view, Type> types = {
      {"pred", {Kind::kPredicate, 1}},   {"b8", {Kind::kBits, 1}},
      {"b16", {Kind::kBits, 2}},         {"b32", {Kind::kBits, 4}},
      {"b64", {Kind::kBits, 8}},         {"b128", {Kind::kBits, 16}},
      {"u8", {Kind::kUnsigned, 1}},      {"u16", {Kind::kUnsigned, 2}},
      {"u32", {Kind::kUnsigned, 4}},     {"u64", {Kind::kUnsigned, 8}},
      {"s8", {Kind::kSigned, 1}},        {"s16", {Kind::kSigned, 2}},
      {"s32", {Kind::kSigned, 4}},       {"s64", {Kind::kSigned, 8}},
      {"f16", {Kind::kReal, 2}},         {"f32", {Kind::kReal, 4}},
      {"f64", {Kind::kReal, 8}},         {"bf16", {Kind::kBfloat, 2}},
      {"f16x2", {Kind::kReal, 4, true}}, {"bf16x2", {Kind::kBfloat, 4, true}},
  };
  const auto found = types.find(name);
  return found == types.end() ? Type{} : found->second;
}

bool IsNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

std::string_view Trim(std::string_view s) {
  while (!s.empty() && IsSpace(s.front())) s.remove_prefix(1);
  while (!s.empty() && IsSpace(s.back())) s.remove_suffix(1);
  return s;
}

std::string WithoutComments(std::string_view s) {
  std::string out;
  out.reserve(s.size());
  for (size_t i = 0; i < s.size();) {
    size_t end = i + 1;
    if (s[i] == '"') {
      end = std::min(s.find('"', i + 1), s.size() - 1) + 1;
      out.append(s.substr(i, end - i));
    } else if (s.substr(i, 2) == "//") {
      end = std::min(s.find('\n', i), s.size());
    } else if (s.substr(i, 2) == "/*") {
      end = std::min(s.find("*/", i), s.size() - 2) + 2;
      out.append(static_cast<size_t>(std::count(s.begin() + static_cast<long>(i),
                                                s.begin() + static_cast<long>(end), '\n')),
                 '\n');
    } else {
      out += s[i];
    }
    i = end;
  }
  return out;
}

std::vector<std::string_view> Words(std::string_view s) {
  std::vector<std::string_view> words;
  for (s = Trim(s); !s.empty(); s = Trim(s)) {
    const auto end = std::find_if(s.begin(), s.end(), IsSpace);
    words.push_back(s.substr(0, static_cast<size_t>(end - s.begin())));
    s.remove_prefix(words.back().size());
  }
  return words;
}

std::vector<std::string_view> SplitList(std::string_view s) {
  std::vector<std::string_view> parts;
  if (Trim(s).empty()) return parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '{' || s[i] == '[' || s[i] == '(') ++depth;
    if (s[i] == '}' || s[i] == ']' || s[i] == ')') --depth;
    if (s[i] != ',' || depth != 0) continue;
    parts.push_back(Trim(s.substr(begin, i - begin)));
    begin = i + 1;
  }
  parts.push_back(Trim(s.substr(begin)));
  return parts;
}

std::optional<uint64_t> ParseNumber(std::string_view s) {
  const bool negative = !s.empty() && s.front() == '-';
  if (negative) s.remove_prefix(1);
  if (s.empty() || !IsDigit(s.front())) return std::nullopt;
  const char mark = s.size() > 2 && s[0] == '0' ? static_cast<char>(std::tolower(s[1])) : ' ';
  const bool bits = mark == 'f' || mark == 'd' || mark == 'x';
  if (s.back() == 'U') s.remove_suffix(1);
  const uint64_t n = bits ? Number(s.substr(2), 16) : Number(s, s[0] == '0' ? 8 : 10);
  return negative ? uint64_t{0} - n : n;
}

Declaration ParseDeclaration(std::string_view s) {
  Declaration d;
  std::string rest;
  uint64_t count = 1;
  const std::vector<std::string_view> words = Words(s);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view w = words[i];
    if (w == ".align" && i + 1 < words.size()) {
      d.align = Number(words[++i], 10);
    } else if (w == ".v2" || w == ".v4") {
      count = w == ".v2" ? 2 : 4;
    } else if (w.front() != '.') {
      rest += w;
    } else if (const Type t = TypeNamed(w.substr(1)); t.kind != Kind::kNone) {
      d.type = t;
    }
  }
  size_t bracket = rest.find('[');
  d.name = rest.substr(0, bracket);
  const uint64_t natural = count * d.type.bytes;
  while (bracket != std::string::npos) {
    const size_t end = rest.find(']', bracket);
    if (end == bracket + 1) d.open = true;
    count *= Number(std::string_view(rest).substr(bracket + 1, end - bracket - 1), 10);
    bracket = rest.find('[', end);
  }
  d.bytes = count * d.type.bytes;
  d.align = std::max({d.align, std::min<uint64_t>(natural, 16), uint64_t{1}});
  return d;
}

}  // namespace ptx
