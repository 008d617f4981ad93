#include "train/config/number_json.h"

#include <charconv>
#include <iterator>

#include "runtime/base/check.h"

namespace tessera::internal {

void CheckNumberField(const std::string& key, double value, const std::string& where) {
  const bool below_one = key == "beta1" || key == "beta2", may_be_negative = key == "dampening";
  if (value < 0 && !may_be_negative)
    throw Error(Format("{}: expected a number that is not negative, got {}", where, value));
  if (below_one && value >= 1)
    throw Error(Format("{}: expected a number below 1, got {}", where, value));
}

double ShortestDouble(float value) {
  char text[64];
  const auto written = std::to_chars(text, std::end(text), value);
  double shortest = 0;
  std::from_chars(text, written.ptr, shortest);
  return shortest;
}

}  // namespace tessera::internal
