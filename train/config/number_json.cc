#include "train/config/number_json.h"

#include "runtime/base/check.h"

namespace tessera::internal {
namespace {

bool IsBelowOne(const std::string& key) { return key == "beta1" || key == "beta2"; }
bool MayBeNegative(const std::string& key) { return key == "dampening"; }

}  // namespace

void CheckNumberField(const std::string& key, double value, const std::string& where) {
  if (value < 0 && !MayBeNegative(key))
    throw Error(Format("{}: expected a number that is not negative, got {}", where, value));
  if (IsBelowOne(key) && value >= 1)
    throw Error(Format("{}: expected a number below 1, got {}", where, value));
}

Json NumberFieldBounds(const std::string& key) {
  Json bounds = Json::object();
  if (!MayBeNegative(key)) bounds["minimum"] = 0;
  if (IsBelowOne(key)) bounds["exclusiveMaximum"] = 1;
  return bounds;
}

}  // namespace tessera::internal
