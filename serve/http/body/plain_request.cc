#include "serve/http/body/plain_request.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace tessera::serve::internal {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr size_t kLargest = 64 << 10;  // bytes of a small request
constexpr size_t kNumberBytes = 1000;  // of a number; JsonLimits has more

// simdjson chooses its code for this machine at the first call, and ends the process where there is
// no memory for that: here there is.
[[maybe_unused]] const bool is_chosen = !simdjson::get_active_implementation()->name().empty();

// Thrown for what is not plain.
struct NotPlain {};

struct PlainLimits {
  size_t bytes = 0, inputs = 0;  // of the body; at most
};

void Expect(bool is_plain) {
  if (!is_plain) throw NotPlain();
}

template <typename T>
T Good(simdjson::simdjson_result<T>&& result) {
  Expect(result.error() == simdjson::SUCCESS);
  return std::move(result).value_unsafe();
}

// JSON's rules are those of simdjson; it does not say how long a number is written.
void CheckNumber(ondemand::value& number, std::string_view token) {
  Expect(token.size() < kNumberBytes);
  Good(number.get_number());
}

// Goes over numbers in lists, which are to be JSON.
void CheckNumbers(ondemand::array list, int depth) {
  Expect(depth < Shape::kMaxRank);
  for (auto item : list) {
    ondemand::value element = Good(std::move(item));
    const std::string_view token = element.raw_json_token();
    if (token.starts_with('['))
      CheckNumbers(Good(element.get_array()), depth + 1);
    else
      CheckNumber(element, token);
  }
}

// Returns the text of a list of numbers, which may have blanks behind it.
std::string_view ReadData(ondemand::value value) {
  ondemand::array list = Good(value.get_array());
  const std::string_view text = Good(list.raw_json());
  Good(list.reset());
  CheckNumbers(list, 0);
  return text;
}

// A body of `most` bytes has no more elements.
Shape ReadShape(ondemand::value value, size_t most) {
  std::vector<int64_t> dims;
  int64_t elements = 1;
  for (auto item : Good(value.get_array())) {
    const int64_t d = Good(Good(std::move(item)).get_int64());
    Expect(d >= 0 && dims.size() < Shape::kMaxRank);
    Expect(!__builtin_mul_overflow(elements, d, &elements));
    Expect(elements <= static_cast<int64_t>(most));
    dims.push_back(d);
  }
  return Shape(std::span(dims));
}

DType ReadType(ondemand::value value) {
  const std::optional<DType> type = TypeNamed(Good(value.get_string()));
  Expect(type.has_value());
  return *type;
}

// An input, and which of its keys have come.
struct OpenInput {
  std::string name;
  RequestInput read;
  unsigned keys = 0;
};

constexpr std::string_view kKeys[] = {"name", "datatype", "shape", "data"};
constexpr unsigned kAllKeys = (1u << std::size(kKeys)) - 1;

void ReadField(std::string_view key, ondemand::value value, size_t most, OpenInput& input) {
  const auto number = static_cast<size_t>(std::ranges::find(kKeys, key) - std::begin(kKeys));
  const unsigned bit = 1u << number;
  Expect((bit & kAllKeys & ~input.keys) != 0);
  input.keys |= bit;
  if (number == 0)
    input.name = Good(value.get_string());
  else if (number == 1)
    input.read.dtype = ReadType(value);
  else if (number == 2)
    input.read.shape = ReadShape(value, most);
  else
    input.read.bytes = ReadData(value);
}

void ReadInput(ondemand::object object, size_t most, PlainRequest& request) {
  OpenInput input;
  input.read.json = true;
  for (auto item : object) {
    ondemand::field field = Good(std::move(item));
    ReadField(Good(field.unescaped_key()), field.value(), most, input);
  }
  Expect(input.keys == kAllKeys);
  Expect(request.inputs.emplace(std::move(input.name), std::move(input.read)).second);
}

void ReadInputs(ondemand::array list, const PlainLimits& limits, PlainRequest& request) {
  for (auto item : list) {
    ReadInput(Good(Good(std::move(item)).get_object()), limits.bytes, request);
    Expect(request.inputs.size() <= limits.inputs);
  }
}

void ReadAll(ondemand::document& document, const PlainLimits& limits, PlainRequest& request) {
  bool has_id = false, has_inputs = false;
  for (auto item : Good(document.get_object())) {
    ondemand::field field = Good(std::move(item));
    const std::string_view key = Good(field.unescaped_key());
    Expect(key == "id" || key == "inputs");
    Expect(!std::exchange(key == "id" ? has_id : has_inputs, true));
    if (key == "id")
      request.id = Good(field.value().get_string());
    else
      ReadInputs(Good(field.value().get_array()), limits, request);
  }
  const char* rest = nullptr;
  Expect(has_inputs && document.current_location().get(rest) == simdjson::OUT_OF_BOUNDS);
}

}  // namespace

std::optional<PlainRequest> ReadPlainRequest(std::string_view text, size_t most_inputs) {
  thread_local std::string padded;
  thread_local ondemand::parser parser;
  if (text.size() > kLargest || std::memchr(text.data(), '\\', text.size()) != nullptr) return {};
  try {
    padded.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    padded = text;
    ondemand::document document =
        Good(parser.iterate(padded.data(), padded.size(), padded.capacity()));
    PlainRequest request;
    ReadAll(document, {.bytes = text.size(), .inputs = most_inputs}, request);
    return request;
  } catch (const NotPlain&) {
    return {};
  }
}

}  // namespace tessera::serve::internal
