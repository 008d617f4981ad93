#include "tests/conformance/case.h"

#include <cmath>
#include <filesystem>

#include "runtime/files/safetensors.h"

namespace tessera::conformance {
namespace {

std::pair<double, double> ToleranceOf(const Case& c, const std::string& name) {
  const auto own = c.tolerances.find(name);
  return own != c.tolerances.end() ? own->second : std::pair(c.rtol, c.atol);
}

template <typename T>
double AsDouble(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return static_cast<float>(value);
  else
    return static_cast<double>(value);
}

template <typename T>
bool Equal(T got, T expected, bool exact, std::pair<double, double> tolerance) {
  const double a = AsDouble(got), b = AsDouble(expected);
  if (got == expected || (std::isnan(a) && std::isnan(b))) return true;
  if (exact || !IsFloating(DTypeOf<T>::value)) return false;
  return std::abs(a - b) <= tolerance.second + tolerance.first * std::abs(b);
}

template <typename T>
std::string CompareElements(const Case& c, const std::string& name, const Tensor& got,
                            const Tensor& expected) {
  const auto a = got.span<T>(), b = expected.span<T>();
  const std::pair<double, double> tolerance = ToleranceOf(c, name);
  for (size_t i = 0; i < a.size(); ++i)
    if (!Equal(a[i], b[i], c.exact, tolerance))
      return Format("out.{}[{}]: got {:.9g}, expected {:.9g}", name, i, AsDouble(a[i]),
                    AsDouble(b[i]));
  return "";
}

std::string CompareTensor(const Case& c, const std::string& name, const Tensor& got,
                          const Tensor& expected) {
  if (got.dtype() != expected.dtype())
    return Format("out.{}: got {}, expected {}", name, got.dtype(), expected.dtype());
  if (got.shape() != expected.shape())
    return Format("out.{}: got shape {}, expected {}", name, got.shape(), expected.shape());
  if (!got.is_contiguous()) return Format("out.{}: not contiguous", name);
  return VisitDType(got.dtype(),
                    [&]<typename T>() { return CompareElements<T>(c, name, got, expected); });
}

std::string CompareJson(const Json& attrs, const char* key, const Json& got) {
  if (!attrs.contains(key)) return "";
  if (got == attrs[key]) return "";
  return Format("{}: got {}, expected {}", std::string_view(key), got.dump(), attrs[key].dump());
}

}  // namespace

const Tensor& Case::input(const std::string& input_name) const {
  const auto found = in.find(input_name);
  TESSERA_CHECK(found != in.end(), "case {}: no input in.{}", name, input_name);
  return found->second;
}

Tensor Case::optional(const std::string& input_name) const {
  const auto found = in.find(input_name);
  return found == in.end() ? Tensor() : found->second;
}

Case ReadCase(Context& ctx, const std::string& path) {
  Safetensors file = ReadSafetensors(ctx, path);
  TESSERA_CHECK(file.metadata.contains("case"), "{}: no metadata 'case'", path);
  const Json meta = Json::parse(file.metadata.at("case"));
  Case c;
  c.path = path;
  c.kind = std::filesystem::absolute(path).parent_path().filename().string();
  c.name = meta.at("name").get<std::string>();
  c.attrs = meta.at("attrs");
  c.exact = meta.value("exact", false);
  c.rtol = meta.value("rtol", 0.0);
  c.atol = meta.value("atol", 0.0);
  const Json tolerances = meta.value("tolerances", Json::object());
  for (const auto& [name, pair] : tolerances.items())
    c.tolerances[name.starts_with("out.") ? name.substr(4) : name] = {pair[0].get<double>(),
                                                                      pair[1].get<double>()};
  for (auto& [name, tensor] : file.tensors) {
    if (name.starts_with("in."))
      c.in.emplace(name.substr(3), tensor);
    else if (name.starts_with("out."))
      c.out.emplace(name.substr(4), tensor);
    else
      TESSERA_FAIL("{}: tensor '{}' is neither in. nor out.", path, name);
  }
  return c;
}

std::string FirstDifference(const Case& c, const Answer& answer) {
  for (const auto& [name, expected] : c.out) {
    const auto got = answer.tensors.find(name);
    if (got == answer.tensors.end() || !got->second.defined())
      return Format("out.{}: not computed", name);
    if (std::string difference = CompareTensor(c, name, got->second, expected); !difference.empty())
      return difference;
  }
  for (const auto& [name, tensor] : answer.tensors)
    if (tensor.defined() && !c.out.contains(name))
      return Format("out.{}: computed, but not in the file", name);
  if (std::string difference = CompareJson(c.attrs, "expect", answer.expect); !difference.empty())
    return difference;
  return CompareJson(c.attrs, "text", answer.text);
}

}  // namespace tessera::conformance
