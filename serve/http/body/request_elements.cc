#include "serve/http/body/request_elements.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/base/parse_number.h"

namespace tessera::serve::internal {
namespace {

constexpr size_t kMaxShown = 40;  // bytes of a number

// The end of a number of JSON.
const char* NumberEnd(const char* at, const char* end) {
  return std::find_if(at, end, [](char c) { return std::strchr("0123456789+-.eE", c) == nullptr; });
}

[[noreturn]] void ThrowExpected(const std::string& where, const char* expected, const char* at,
                                const char* end) {
  const std::string number(at, NumberEnd(at, end));
  const std::string got = number.empty()               ? "something else"
                          : number.size() <= kMaxShown ? number
                                                       : number.substr(0, kMaxShown) + "...";
  throw Error(Format("{}: expected {}, got {}", where, expected, got));
}

// Reads the number at `at`, and returns its end. The text is known to be JSON.
const char* ReadNumber(const RequestInput& input, const char* at, const char* end, int64_t& out) {
  const auto [behind, error] = std::from_chars(at, end, out);
  if (error != std::errc() || (behind < end && std::strchr(".eE", *behind) != nullptr))
    ThrowExpected(input.where, "an integer", at, end);
  if (input.dtype == DType::kI32 && out != static_cast<int32_t>(out))
    throw Error(Format("{}: {} is no INT32", input.where, out));
  return behind;
}

int32_t Narrow(int64_t wide) {
  if (wide != static_cast<int32_t>(wide)) throw NotNarrow();
  return static_cast<int32_t>(wide);
}

const char* ReadNumber(const RequestInput& input, const char* at, const char* end, int32_t& out) {
  int64_t wide = 0;
  const char* const behind = ReadNumber(input, at, end, wide);
  out = Narrow(wide);
  return behind;
}

const char* ReadNumber(const RequestInput& input, const char* at, const char* end, float& out) {
  double wide = 0;
  auto [behind, error] = std::from_chars(at, end, wide);
  if (error == std::errc::result_out_of_range)  // too small: too large ones are no JSON here
    wide = NearestDouble(std::string(at, behind));
  else if (error != std::errc() || behind == at || std::isalpha(static_cast<unsigned char>(*at)))
    ThrowExpected(input.where, "a number", at, end);
  out = static_cast<float>(wide);
  if (!std::isfinite(out)) ThrowExpected(input.where, "a number that a float can hold", at, end);
  return behind;
}

// The lists in the list of an input's elements: each holds as many as the shape says, the outermost
// aside, which may hold all elements one after the other.
class NestedLists {
 public:
  explicit NestedLists(const RequestInput& input) : input_(input) {}

  // count: the elements before it.
  void Open(int64_t count) {
    if (depth_ > Shape::kMaxRank) throw Error(Format("{}: lists in lists, too deep", input_.where));
    begins_[depth_++] = count;
  }
  void Close(int64_t count) {
    const int64_t there = count - begins_[--depth_];
    if (depth_ == 0) return;
    int64_t expected = 1;
    for (int d = depth_; d < input_.shape.rank(); ++d) expected *= input_.shape[d];
    if (there != expected)
      throw Error(
          Format("{}: expected lists of the shape {}, or one list of all elements; got a "
                 "list in it of {} where the shape has {}",
                 input_.where, input_.shape, there, expected));
  }

 private:
  const RequestInput& input_;
  int depth_ = 0;
  std::array<int64_t, Shape::kMaxRank + 1> begins_{};
};

// Reads elements; those behind the last are counted, not written.
template <typename T>
void ReadList(const RequestInput& input, T* out, int64_t room) {
  const char *at = input.bytes.data(), *const end = at + input.bytes.size();
  int64_t count = 0;
  for (NestedLists lists(input); at < end;) {
    if (*at == '[') lists.Open(count);
    if (*at == ']') lists.Close(count);
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

// Binary elements, each of which `convert` makes a To.
template <typename From, typename To, typename Convert>
void CopyElements(const RequestInput& input, To* out, const Convert& convert) {
  const char* at = input.bytes.data();
  for (int64_t i = 0; i < input.shape.numel(); ++i, at += sizeof(From)) {
    From element{};
    std::memcpy(&element, at, sizeof element);
    out[i] = convert(element);
  }
}

template <typename T>
void CopyElements(const RequestInput& input, T* out) {
  const size_t bytes = static_cast<size_t>(input.shape.numel()) * sizeof(T);
  if (bytes > 0) std::memcpy(out, input.bytes.data(), bytes);
}

}  // namespace

std::optional<DType> TypeNamed(std::string_view name) {
  if (name == "FP32") return DType::kF32;
  if (name == "INT64") return DType::kI64;
  if (name == "INT32") return DType::kI32;
  return {};
}

void CheckCount(const RequestInput& input) {
  const auto least = static_cast<uint64_t>(input.shape.numel()) * 2;  // a digit and a comma each
  if (!input.json || least <= input.bytes.size()) return;
  input.dtype == DType::kF32 ? ReadList<float>(input, nullptr, 0)
                             : ReadList<int64_t>(input, nullptr, 0);
}

void ReadElements(const RequestInput& input, float* out) {
  input.json ? ReadList(input, out, input.shape.numel()) : CopyElements(input, out);
}

void ReadElements(const RequestInput& input, int32_t* out) {
  if (input.json) return ReadList(input, out, input.shape.numel());
  if (input.dtype == DType::kI32) return CopyElements(input, out);
  CopyElements<int64_t>(input, out, Narrow);
}

void ReadElements(const RequestInput& input, int64_t* out) {
  if (input.json) return ReadList(input, out, input.shape.numel());
  if (input.dtype == DType::kI64) return CopyElements(input, out);
  CopyElements<int32_t>(input, out, [](int32_t element) { return int64_t{element}; });
}

}  // namespace tessera::serve::internal
