#include "sparse/python_text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace tessera {
namespace {

template <typename T>
void AppendElement(std::string* out, T value) {
  if constexpr (std::is_same_v<T, bool>)
    *out += value ? "True" : "False";
  else if constexpr (std::is_integral_v<T>)
    *out += std::to_string(value);
  else if constexpr (std::is_floating_point_v<T>)
    *out += PythonFloat(value);
  else
    *out += PythonFloat(static_cast<float>(value));
}

template <typename T>
void AppendList(std::string* out, const T* data, const Shape& shape, const Shape& strides,
                int dim) {
  if (dim == shape.rank()) return AppendElement(out, *data);
  *out += '[';
  for (int64_t i = 0; i < shape[dim]; ++i) {
    if (i > 0) *out += ", ";
    AppendList(out, data + i * strides[dim], shape, strides, dim + 1);
  }
  *out += ']';
}

// `digits` without a point, value 0.d1d2d3… · 10^point, 0 < point: 1234 and 2 -> 12.34, 12 and 4 ->
// 1200.0.
std::string Positional(std::string digits, int point) {
  if (point <= 0) return "0." + std::string(static_cast<size_t>(-point), '0') + digits;
  if (static_cast<size_t>(point) >= digits.size()) {
    digits.append(static_cast<size_t>(point) - digits.size(), '0');
    return digits + ".0";
  }
  return digits.insert(static_cast<size_t>(point), ".");
}

std::string Exponential(const std::string& digits, int exponent) {
  std::string text = digits.substr(0, 1);
  if (digits.size() > 1) text += "." + digits.substr(1);
  const std::string size = std::to_string(std::abs(exponent));
  return text + (exponent < 0 ? "e-" : "e+") + (size.size() < 2 ? "0" : "") + size;
}

}  // namespace

std::string PythonFloat(double value) {
  if (std::isnan(value)) return "nan";
  const std::string sign = std::signbit(value) ? "-" : "";
  value = std::fabs(value);
  if (std::isinf(value)) return sign + "inf";
  if (value == 0) return sign + "0.0";
  char buffer[32];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  std::string digits(text.substr(0, 1));
  if (e > 2) digits += text.substr(2, e - 2);
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  if (exponent < -4 || exponent >= 16) return sign + Exponential(digits, exponent);
  return sign + Positional(digits, exponent + 1);
}

std::string PythonList(const Tensor& given) {
  const Tensor tensor = given.ToHost();
  std::string text;
  VisitDType(tensor.dtype(), [&]<typename T>() {
    AppendList(&text, tensor.data<T>(), tensor.shape(), tensor.strides(), 0);
  });
  return text;
}

std::string PythonBags(const Tensor& given_values, const Tensor& given_lengths) {
  const Tensor values = given_values.ToHost(), lengths = given_lengths.ToHost();
  std::string text = "[";
  VisitIndexType(lengths.dtype(), "lengths", [&]<typename T>() {
    int64_t row = 0;
    for (T length : lengths.span<T>()) {
      if (text.size() > 1) text += ", ";
      text += PythonList(values.Rows(row, row + length));
      row += length;
    }
  });
  return text + "]";
}

}  // namespace tessera
