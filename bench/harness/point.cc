#include "bench/harness/point.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

// The factor that a number's ending stands for; 0 if it is unknown.
double Scale(std::string_view ending) {
  if (ending.empty()) return 1;
  if (ending == "k") return 1e3;
  if (ending == "M") return 1e6;
  if (ending == "G") return 1e9;
  if (ending == "Ki") return 0x1p10;
  if (ending == "Mi") return 0x1p20;
  if (ending == "Gi") return 0x1p30;
  return 0;
}

// Axis and value before the error that `read` throws.
template <typename Read>
auto OfAxis(const std::string& axis, Read&& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(Format("--{}: {}", axis, error.what()));
  }
}

}  // namespace

double ParseNumber(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const double scale = error == std::errc() ? Scale(std::string_view(rest, end)) : 0;
  if (scale == 0 || !std::isfinite(number))
    throw Error(Format("expected a number such as 20, 0.5, 64k, 1M or 4Ki, got '{}'", text));
  return number * scale;
}

int64_t ParseWhole(const std::string& text) {
  const double number = ParseNumber(text);
  if (number != std::floor(number) || std::abs(number) > 0x1p53)
    throw Error(Format("expected a whole number such as 20, 64k, 1M or 4Ki, got '{}'", text));
  return static_cast<int64_t>(number);
}

bool Point::Has(const std::string& axis) const {
  return std::any_of(values_.begin(), values_.end(), [&](auto& v) { return v.first == axis; });
}

Point Point::Watched() const {
  Point watched = *this;
  watched.asked_ = std::make_shared<std::set<std::string>>();
  return watched;
}

const std::string& Point::Text(const std::string& axis) const {
  if (asked_) asked_->insert(axis);
  for (const auto& [name, value] : values_)
    if (name == axis) return value;
  throw Error(Format("'{}': the topic has no axis of this name", axis));
}

int64_t Point::Int(const std::string& axis) const {
  return OfAxis(axis, [&] { return ParseWhole(Text(axis)); });
}
double Point::Number(const std::string& axis) const {
  return OfAxis(axis, [&] { return ParseNumber(Text(axis)); });
}
bool Point::Flag(const std::string& axis) const {
  OfAxis(axis, [&] { YesOrNo()(Text(axis)); });
  return Text(axis) == "yes";
}

std::function<void(const std::string&)> WholeFrom(int64_t low, int64_t high) {
  return [=](const std::string& value) {
    const int64_t number = ParseWhole(value);
    if (number >= low && number <= high) return;
    throw Error(Format(
        "expected a whole number {}, got '{}'",
        high == kAnyWhole ? Format("of at least {}", low) : Format("from {} to {}", low, high),
        value));
  };
}

std::function<void(const std::string&)> NumberFrom(double low, double high) {
  return [=](const std::string& value) {
    const double number = ParseNumber(value);
    if (number < low || number > high)
      throw Error(Format("expected a number from {} to {}, got '{}'", low, high, value));
  };
}

std::function<void(const std::string&)> OneOf(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& value) {
    if (std::find(words.begin(), words.end(), value) != words.end()) return;
    std::string list;
    for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
    throw Error(Format("expected one of {}; got '{}'", list, value));
  };
}

std::function<void(const std::string&)> YesOrNo() { return OneOf({"yes", "no"}); }

}  // namespace tessera::bench
