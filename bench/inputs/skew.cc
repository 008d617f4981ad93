#include "bench/inputs/skew.h"

#include <charconv>
#include <string_view>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr double kMaxExponent = 10;

Skew OfCounts(const ReuseCounts& counts) {
  return {.kind = Skew::Kind::kReuseCounts, .counts = std::make_shared<ReuseCounts>(counts)};
}

Skew OfDistances(const ReuseDistances& distances) {
  return {.kind = Skew::Kind::kReuseDistances,
          .distances = std::make_shared<ReuseDistances>(distances)};
}

double Exponent(std::string_view number, const std::string& text) {
  double value = -1;
  const char* const end = number.data() + number.size();
  const auto [read, error] = std::from_chars(number.data(), end, value);
  TESSERA_CHECK(error == std::errc() && read == end && value >= 0 && value <= kMaxExponent,
                "skew: expected zipf:S with S from 0 to {}, got \"{}\"", kMaxExponent, text);
  return value;
}

}  // namespace

Skew Skew::Zipf(double exponent) {
  if (exponent == 0) return {};
  return {.kind = Kind::kZipf, .exponent = exponent};
}

Skew ParseSkew(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const std::string value = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (text == "uniform") return {};
  if (text == "meta2021") return OfCounts(Meta2021());
  if (text == "meta2022") return OfCounts(Meta2022());
  if (text == "distances") return OfDistances(LowReuseTable());
  if (name == "zipf" && !value.empty()) return Skew::Zipf(Exponent(value, text));
  if (name == "distances" && !value.empty())
    return OfDistances(MeasureReuseDistances(ReadTrace(value).renamed));
  if (name == "trace" && !value.empty())
    return {.kind = Skew::Kind::kTrace, .trace = std::make_shared<Trace>(ReadTrace(value))};
  throw Error(Format("skew: expected {}, got \"{}\"", kSkewHelp, text));
}

}  // namespace tessera::bench
