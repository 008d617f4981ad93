#include "serve/model_inputs.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "runtime/base/joined.h"

namespace tessera::serve {
namespace {

constexpr size_t kNamed = 8;  // features that an error names

// "the features a, b and 12 more" that are in `some`, not in `others`; "" for none.
std::string FeaturesOnlyIn(std::vector<std::string> some, std::vector<std::string> others) {
  std::sort(some.begin(), some.end());
  std::sort(others.begin(), others.end());
  std::vector<std::string> only;
  std::set_difference(some.begin(), some.end(), others.begin(), others.end(),
                      std::back_inserter(only));
  if (only.empty()) return "";
  return (only.size() == 1 ? "the feature " : "the features ") +
         internal::JoinedFirst(only, kNamed);
}

}  // namespace

std::string OtherInputs(const ModelSpec& before, const ModelSpec& next) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (next.net.dense_in != before.net.dense_in)
    add(Format("{} dense values instead of {}", next.net.dense_in, before.net.dense_in));
  if (next.net.weighted != before.net.weighted)
    add(next.net.weighted ? "ids with weights" : "ids without weights");
  const std::vector<std::string> old_names = before.Features(), names = next.Features();
  const std::string gone = FeaturesOnlyIn(old_names, names),
                    added = FeaturesOnlyIn(names, old_names);
  if (!gone.empty()) add("not " + gone);
  if (!added.empty()) add("also " + added);
  if (gone.empty() && added.empty() && names != old_names)
    add("the same features in another order");
  return text;
}

void CheckSameInputs(const ModelSpec& before, const ModelSpec& next, const std::string& where,
                     const std::string& allows_it) {
  const std::string other = OtherInputs(before, next);
  if (other.empty()) return;
  throw Error(
      Format("{}: version {} would read other inputs than version {}: {}; requests of its "
             "clients would be refused ({} allows it)",
             where, next.version, before.version, other, allows_it));
}

}  // namespace tessera::serve
