#include "serve/http/request_elements.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace tessera::serve::internal {
namespace {

constexpr size_t kMostShown = 40;  // bytes of a number

// The end of a number of JSON.
const char* NumberEnd(const char* at, const char* end) {
  return std::find_if(at, end, [](char c) { return std::strchr("0123456789+-.eE", c) == nullptr; });
}

[[noreturn]] void ThrowExpected(const std::string& where, const char* expected, const char* at,
                                const char* end) {
  const std::string number(at, NumberEnd(at, end));
  const std::string got = number.empty()                ? "something else"
                          : number.size() <= kMostShown ? number
                                                        : number.substr(0, kMostShown) + "...";
  throw Error(Format("{}: expected {}, got {}", where, expected, got));
}

// What behind `at` is a number ends where it returns. The text is known to be JSON.
const char* ReadNumber(const RequestInput& input, const char* at, const char* end, int64_t& out) {
  const auto [behind, error] = std::from_chars(at, end, out);
  if (error != std::errc() || (behind < end && std::strchr(".eE", *behind) != nullptr))
    ThrowExpected(input.where, "an integer", at, end);
  if (input.dtype == DType::kI32 && out != static_cast<int32_t>(out))
    throw Error(Format("{}: {} is no INT32", input.where, out));
  return behind;
}

const char* ReadNumber(const RequestInput& input, const char* at, const char* end, float& out) {
  double wide = 0;
  auto [behind, error] = std::from_chars(at, end, wide);
  if (error == std::errc::result_out_of_range)  // too small: too large ones are no JSON here
    wide = std::strtod(std::string(at, behind).c_str(), nullptr);
  else if (error != std::errc() || behind == at || std::isalpha(static_cast<unsigned char>(*at)))
    ThrowExpected(input.where, "a number", at, end);
  out = static_cast<float>(wide);
  if (!std::isfinite(out)) ThrowExpected(input.where, "a number that a float can hold", at, end);
  return behind;
}

// Elements behind the last are counted, not written.
template <typename T>
void ReadList(const RequestInput& input, T* out, int64_t room) {
  const char *at = input.bytes.data(), *const end = at + input.bytes.size();
  int64_t count = 0;
  for (int depth = 0; at < end;) {
    if (*at == '[' && depth++ > Shape::kMaxRank)
      throw Error(Format("{}: lists in lists, too deep", input.where));
    if (*at == ']') --depth;
    if (std::strchr("[], \t\r\n", *at) != nullptr) {
      ++at;
      continue;
    }
    T element{};
    at = ReadNumber(input, at, end, element);
    if (count < room) out[count] = element;
    ++count;
  }
  if (count != input.shape.numel())
    throw Error(
        Format("{}: expected {} elements, got {}", input.where, input.shape.numel(), count));
}

}  // namespace

void CheckCount(const RequestInput& input) {
  const auto least = static_cast<uint64_t>(input.shape.numel()) * 2;  // a digit and a comma each
  if (!input.json || least <= input.bytes.size()) return;
  input.dtype == DType::kF32 ? ReadList<float>(input, nullptr, 0)
                             : ReadList<int64_t>(input, nullptr, 0);
}

void ReadElements(const RequestInput& input, float* out) {
  const auto count = static_cast<size_t>(input.shape.numel());
  if (input.json) return ReadList(input, out, input.shape.numel());
  if (count > 0) std::memcpy(out, input.bytes.data(), count * sizeof(float));
}

void ReadElements(const RequestInput& input, int64_t* out) {
  const auto count = static_cast<size_t>(input.shape.numel());
  if (input.json) return ReadList(input, out, input.shape.numel());
  if (input.dtype == DType::kI64) {
    if (count > 0) std::memcpy(out, input.bytes.data(), count * sizeof(int64_t));
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    int32_t element = 0;
    std::memcpy(&element, input.bytes.data() + i * sizeof element, sizeof element);
    out[i] = element;
  }
}

}  // namespace tessera::serve::internal
