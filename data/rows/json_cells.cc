#include "data/rows/json_cells.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>

#include "data/rows/bad_line.h"
#include "data/rows/find_byte.h"
#include "data/rows/number_text.h"
#include "data/rows/word_table.h"
#include "runtime/base/check.h"
#include "runtime/json/json_fault.h"
#include "runtime/json/utf8.h"

namespace tessera {
namespace {

namespace ondemand = simdjson::ondemand;

static_assert(JsonCells::kPadding >= simdjson::SIMDJSON_PADDING);
static_assert(JsonCells::kPadding >= internal::kFindPadding);

// Texts of true and false, padded.
constexpr char kOne[1 + internal::kFindPadding] = "1", kZero[1 + internal::kFindPadding] = "0";

// Thrown where a line is no JSON; nothing else is said of it.
struct NotJson {};

template <typename T>
T Good(simdjson::simdjson_result<T>&& result) {
  if (result.error() != simdjson::SUCCESS) throw NotJson();
  return std::move(result).value_unsafe();
}

// Lists and objects in one another: Check calls itself for each.
constexpr int64_t kMaxLevels = 1024;

using internal::IsDigit;

const char* SkipDigits(const char* p, const char* end) {
  while (p < end && IsDigit(*p)) ++p;
  return p;
}

// -?(0 | [1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
bool IsNumber(std::string_view text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  if (p < end && *p == '-') ++p;
  const char* const whole = p;
  p = SkipDigits(p, end);
  if (p == whole || (*whole == '0' && p > whole + 1)) return false;
  if (p < end && *p == '.') {
    const char* const decimals = ++p;
    p = SkipDigits(p, end);
    if (p == decimals) return false;
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    ++p;
    if (p < end && (*p == '+' || *p == '-')) ++p;
    const char* const digits = p;
    p = SkipDigits(p, end);
    if (p == digits) return false;
  }
  return p == end;
}

// The half of a surrogate pair that \uXXXX at `p` is: 1 for the first, 2 for the second, 0 for
// none.
int SurrogateHalf(std::string_view at) {
  if (at.size() < 6 || at[0] != '\\' || at[1] != 'u' || (at[2] != 'd' && at[2] != 'D')) return 0;
  const char c = at[3];
  if (c == '8' || c == '9' || c == 'a' || c == 'b' || c == 'A' || c == 'B') return 1;
  return c >= '0' && c <= '7' ? 0 : 2;
}

// Whether halves of surrogate pairs, which are no characters, come in pairs alone, in the text
// before the next quote.
bool SurrogatesPair(std::string_view raw) {
  for (size_t i = 0; i < raw.size() && raw[i] != '"'; ++i) {
    if (raw[i] != '\\') continue;
    const int half = SurrogateHalf(raw.substr(i));
    if (half == 2) return false;
    if (half == 1) {
      if (SurrogateHalf(raw.substr(i + 6)) != 2) return false;
      i += 10;
    }
    ++i;
  }
  return true;
}

std::string_view Trimmed(std::string_view token) {
  while (!token.empty() && (token.back() == ' ' || token.back() == '\t' || token.back() == '\r' ||
                            token.back() == '\n'))
    token.remove_suffix(1);
  return token;
}

// A string's text: where it stands, if it has no escapes, else decoded by the parser.
template <typename Value>
std::string_view TextOf(Value& value, std::string_view token) {
  if (token.size() < 2 || token.back() != '"') throw NotJson();
  const std::string_view inside = token.substr(1, token.size() - 2);
  if (inside.find('\\') == inside.npos) {
    Good(value.get_raw_json_string());  // steps over it
    return inside;
  }
  if (!SurrogatesPair(inside)) throw NotJson();
  return Good(value.get_string());
}

enum class Scalar { kText, kNumber, kBool, kNull };

// Reads a value that is neither a list nor an object. Strings are stepped over; the rest is by who
// goes on.
Scalar ReadScalar(ondemand::value& value, std::string_view& text) {
  const std::string_view token = Trimmed(value.raw_json_token());
  if (!token.empty() && token[0] == '"') {
    text = TextOf(value, token);
    return Scalar::kText;
  }
  text = token;
  if (IsNumber(token)) return Scalar::kNumber;
  if (token == "true" || token == "false") {
    text = std::string_view(token == "true" ? kOne : kZero, 1);
    return Scalar::kBool;
  }
  if (token != "null") throw NotJson();
  return Scalar::kNull;
}

// Thrown for a line that is no object.
BadLine NoObject(std::string_view line) {
  std::string got = ShownText(line);
  if (const auto fault = internal::FindJsonFault(line))
    got = Format("{} (column {}: {})", ShownAround(line, fault->column - 1), fault->column,
                 fault->what);
  return BadLine("expected a JSON object", got);
}

enum class Form { kScalar, kList, kObject };

Form FormOf(ondemand::value& value) {
  const std::string_view token = value.raw_json_token();
  if (token.starts_with('[')) return Form::kList;
  return token.starts_with('{') ? Form::kObject : Form::kScalar;
}

}  // namespace

struct JsonCells::Reader {
  Reader(std::vector<std::string> names, std::vector<std::string> null_texts)
      : keys(std::move(names)),
        null(std::move(null_texts)),
        seen(keys.words().size()),
        followers(seen.size() + 1, -1) {}

  void Read(std::string_view line, LineCells& out);
  void ReadField(ondemand::field& field, LineCells& out);
  void ReadList(const std::string& key, ondemand::value& value, LineCell& cell, LineCells& out);
  void Check(ondemand::value& value, int64_t levels_left = kMaxLevels);
  std::string_view KeyOf(ondemand::field& field);
  bool IsKey(const char* begin, size_t place) const;
  int64_t FindKey(ondemand::field& field, std::string_view& key);

  WordTable keys;
  std::vector<std::string> null;
  std::vector<uint8_t> seen;
  // The key without escapes that came last after each key and, in the end, after none, since lines
  // mostly have the same order; -1: not known.
  std::vector<int64_t> followers;
  size_t last_key = 0;                    // in followers
  std::optional<std::string_view> stray;  // the first key that nobody asks for
  const char* line_end = nullptr;
  ondemand::parser parser;
};

// Reads a value that nobody asked for.
void JsonCells::Reader::Check(ondemand::value& value, int64_t levels_left) {
  if (levels_left == 0) throw BadLine(Format("more than {} levels of nesting", kMaxLevels));
  switch (FormOf(value)) {
    case Form::kScalar: {
      std::string_view text;
      ReadScalar(value, text);
      return;
    }
    case Form::kList:
      for (auto item : Good(value.get_array())) {
        ondemand::value inside = Good(std::move(item));
        Check(inside, levels_left - 1);
      }
      return;
    case Form::kObject:
      for (auto item : Good(value.get_object())) {
        ondemand::field field = Good(std::move(item));
        KeyOf(field);
        Check(field.value(), levels_left - 1);
      }
  }
}

// Ends at the next quote, unless there is an escape before it.
std::string_view JsonCells::Reader::KeyOf(ondemand::field& field) {
  const char* const begin = field.key().raw();
  const auto left = static_cast<size_t>(line_end - begin);
  const void* const quote = std::memchr(begin, '"', left);
  if (quote == nullptr) throw NotJson();
  const std::string_view inside(begin,
                                static_cast<size_t>(static_cast<const char*>(quote) - begin));
  if (inside.find('\\') == inside.npos) return inside;
  if (!SurrogatesPair({begin, left})) throw NotJson();
  return Good(field.unescaped_key());
}

// Whether the text at `begin`, behind a quote, is a key that has no escapes.
bool JsonCells::Reader::IsKey(const char* begin, size_t place) const {
  const std::string& key = keys.words()[place];
  return static_cast<size_t>(line_end - begin) > key.size() && begin[key.size()] == '"' &&
         std::memcmp(begin, key.data(), key.size()) == 0;
}

// The place of a field's key, or -1 and its text.
int64_t JsonCells::Reader::FindKey(ondemand::field& field, std::string_view& key) {
  const int64_t guess = followers[last_key];
  if (guess >= 0 && IsKey(field.key().raw(), static_cast<size_t>(guess))) {
    last_key = static_cast<size_t>(guess);
    return guess;
  }
  key = KeyOf(field);
  const int64_t at = keys.Find(key);
  if (at < 0) return at;
  followers[last_key] = key.find_first_of("\\\"") == key.npos ? at : -1;
  last_key = static_cast<size_t>(at);
  return at;
}

void JsonCells::Reader::ReadList(const std::string& key, ondemand::value& value, LineCell& cell,
                                 LineCells& out) {
  cell.kind = LineCell::Kind::kList;
  cell.begin = static_cast<uint32_t>(out.items.size());
  for (auto item : Good(value.get_array())) {
    ondemand::value inside = Good(std::move(item));
    std::string_view text, got;
    if (FormOf(inside) != Form::kScalar)
      got = FormOf(inside) == Form::kList ? Good(Good(inside.get_array()).raw_json())
                                          : Good(Good(inside.get_object()).raw_json());
    else if (ReadScalar(inside, text) == Scalar::kNull)
      got = "null";
    if (!got.empty())
      throw BadLine(Format("{}[{}]", key, out.items.size() - cell.begin),
                    "expected a number or a string", ShownJson(got));
    out.items.push_back(text);
  }
  cell.count = static_cast<uint32_t>(out.items.size()) - cell.begin;
}

void JsonCells::Reader::ReadField(ondemand::field& field, LineCells& out) {
  std::string_view key_text;
  const int64_t at = FindKey(field, key_text);
  ondemand::value& value = field.value();
  if (at < 0) {
    if (!stray) stray = key_text;
    return Check(value);
  }
  const auto place = static_cast<size_t>(at);
  const std::string& key = keys.words()[place];
  if (seen[place]++ > 0) throw BadLine(Format("the key \"{}\" is given twice", key));
  LineCell& cell = out.cells[place];
  switch (FormOf(value)) {
    case Form::kList:
      return ReadList(key, value, cell, out);
    case Form::kObject:
      throw BadLine(key, "expected a list, a number or a string",
                    ShownJson(Good(Good(value.get_object()).raw_json())));
    case Form::kScalar:
      std::string_view text;
      const Scalar scalar = ReadScalar(value, text);
      cell = TextCell(text);
      if (scalar == Scalar::kNull || IsMissing(text, null)) cell.kind = LineCell::Kind::kMissing;
  }
}

void JsonCells::Reader::Read(std::string_view line, LineCells& out) {
  out.items.clear();
  line_end = line.data() + line.size();
  std::fill(seen.begin(), seen.end(), 0);
  stray.reset();
  last_key = followers.size() - 1;
  for (LineCell& cell : out.cells) cell.kind = LineCell::Kind::kMissing;
  // Some versions of the parser pass over a byte order mark.
  if (line.starts_with(internal::kByteOrderMark)) throw NotJson();
  ondemand::document document =
      Good(parser.iterate(line.data(), line.size(), line.size() + kPadding));
  ondemand::object object = Good(document.get_object());
  for (auto item : object) {
    ondemand::field field = Good(std::move(item));
    ReadField(field, out);
  }
  const char* rest = nullptr;
  if (document.current_location().get(rest) != simdjson::OUT_OF_BOUNDS) throw NotJson();
}

JsonCells::JsonCells(std::vector<std::string> keys, std::vector<std::string> null)
    : reader_(std::make_unique<Reader>(std::move(keys), std::move(null))) {}

JsonCells::~JsonCells() = default;

std::optional<std::string_view> JsonCells::StrayKey() const {
  const std::vector<uint8_t>& seen = reader_->seen;
  const bool known = std::any_of(seen.begin(), seen.end(), [](uint8_t times) { return times > 0; });
  return known ? std::nullopt : reader_->stray;
}

void JsonCells::Read(std::string_view line, LineCells& out) {
  try {
    reader_->Read(line, out);
  } catch (const NotJson&) {
    throw NoObject(line);
  }
}

}  // namespace tessera
