#ifndef TESSERA_RUNTIME_BASE_CHECK_H_
#define TESSERA_RUNTIME_BASE_CHECK_H_
// Errors and contracts. A broken contract throws tessera::Error, whose text says what was expected,
// what came, and where.
//
//   TESSERA_CHECK(rows > 0, "table {}: it has no rows", name);
//   TESSERA_CHECK_EQ(ids.rank(), 1, "feature {}: ids", name);
//     -> feature f3: ids: expected ids.rank() == 1, got 2 and 1 (sparse/jagged_tensor.cc:41)
//
// Messages take the replacement fields of the fmt library ("{}", "{:.3f}"). TESSERA_DCHECK guards
// our own invariants and costs nothing outside debug and sanitizer builds.
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace tessera {

// Every error that the library throws on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One value of a message, read before the expression that makes it ends. Types of the library join
// by a `std::string ToString(const T&)` found beside them. It owns nothing: checks stand in
// thousands of places, none of which has anything to destroy.
class FormatArg {
 public:
  struct Object {
    const void* object;
    std::string (*to_string)(const void* object);
  };
  using Value = std::variant<bool, char, int64_t, uint64_t, double, std::string_view, Object>;

  template <typename T>
  FormatArg(const T& value) : value_(Convert(value)) {}  // NOLINT: made to be implicit
  const Value& value() const { return value_; }

 private:
  template <typename T>
  static auto Convert(const T& value) {
    if constexpr (std::same_as<T, bool> || std::same_as<T, char>)
      return value;
    else if constexpr (std::signed_integral<T>)
      return static_cast<int64_t>(value);
    else if constexpr (std::unsigned_integral<T>)
      return static_cast<uint64_t>(value);
    else if constexpr (std::floating_point<T>)
      return static_cast<double>(value);
    else if constexpr (std::convertible_to<const T&, std::string_view>)
      return std::string_view(value);
    else if constexpr (std::is_pointer_v<T>)
      return std::string_view(value == nullptr ? "null" : "a pointer");
    else
      return Object{&value, [](const void* object) {
                      return std::string(ToString(*static_cast<const T*>(object)));
                    }};
  }
  Value value_;
};

// `pattern` with its replacement fields filled in.
std::string FormatMessage(std::string_view pattern, std::initializer_list<FormatArg> args);

template <typename... Args>
std::string Format(std::string_view pattern, const Args&... args) {
  return FormatMessage(pattern, {FormatArg(args)...});
}

namespace internal {

[[noreturn]] void ThrowError(const char* file, int line, const std::string& what);

// The text is the message, or where that is empty the condition.
[[noreturn]] void ThrowFailedCheck(const char* file, int line, const char* condition,
                                   std::string_view pattern, std::initializer_list<FormatArg> args);
[[noreturn]] void ThrowFailedComparison(const char* file, int line, const char* a, const char* op,
                                        const char* b, const FormatArg& a_value,
                                        const FormatArg& b_value, std::string_view pattern,
                                        std::initializer_list<FormatArg> args);

template <typename... Args>
[[noreturn]] void FailCheck(const char* file, int line, const char* condition,
                            std::string_view pattern = {}, const Args&... args) {
  ThrowFailedCheck(file, line, condition, pattern, {FormatArg(args)...});
}

template <typename... Args>
[[noreturn]] void FailComparison(const char* file, int line, const char* a, const char* op,
                                 const char* b, const FormatArg& a_value, const FormatArg& b_value,
                                 std::string_view pattern = {}, const Args&... args) {
  ThrowFailedComparison(file, line, a, op, b, a_value, b_value, pattern, {FormatArg(args)...});
}

}  // namespace internal
}  // namespace tessera

// Throws with the given message, always.
#define TESSERA_FAIL(...) \
  ::tessera::internal::ThrowError(__FILE__, __LINE__, ::tessera::Format(__VA_ARGS__))

#define TESSERA_CHECK(condition, ...)                                                            \
  do {                                                                                           \
    if (!(condition)) [[unlikely]]                                                               \
      ::tessera::internal::FailCheck(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)

#define TESSERA_CHECK_COMPARISON_(a, op, b, ...)                                       \
  do {                                                                                 \
    const auto tessera_a_ = (a);                                                       \
    const auto tessera_b_ = (b);                                                       \
    if (!(tessera_a_ op tessera_b_)) [[unlikely]]                                      \
      ::tessera::internal::FailComparison(__FILE__, __LINE__, #a, #op, #b, tessera_a_, \
                                          tessera_b_ __VA_OPT__(, ) __VA_ARGS__);      \
  } while (false)

#define TESSERA_CHECK_EQ(a, b, ...) TESSERA_CHECK_COMPARISON_(a, ==, b, __VA_ARGS__)
#define TESSERA_CHECK_NE(a, b, ...) TESSERA_CHECK_COMPARISON_(a, !=, b, __VA_ARGS__)
#define TESSERA_CHECK_LT(a, b, ...) TESSERA_CHECK_COMPARISON_(a, <, b, __VA_ARGS__)
#define TESSERA_CHECK_LE(a, b, ...) TESSERA_CHECK_COMPARISON_(a, <=, b, __VA_ARGS__)
#define TESSERA_CHECK_GT(a, b, ...) TESSERA_CHECK_COMPARISON_(a, >, b, __VA_ARGS__)
#define TESSERA_CHECK_GE(a, b, ...) TESSERA_CHECK_COMPARISON_(a, >=, b, __VA_ARGS__)

#if TESSERA_DCHECKS
#define TESSERA_DCHECK(condition, ...) TESSERA_CHECK(condition, __VA_ARGS__)
#else
#define TESSERA_DCHECK(condition, ...) \
  do {                                 \
  } while (false)
#endif

#endif  // TESSERA_RUNTIME_BASE_CHECK_H_
