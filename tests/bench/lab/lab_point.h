#ifndef TESSERA_TESTS_BENCH_LAB_LAB_POINT_H_
#define TESSERA_TESTS_BENCH_LAB_LAB_POINT_H_
// Small points of the lab, and checks of functions that no variant registers.
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/lab/kernel.h"
#include "bench/lab/lab_topic.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {

using Values = std::map<std::string, std::string>;

// The topic's point with these values; sizes are small, and others are the first.
inline Point LabPoint(const Values& values) {
  const bool product = values.contains("kernel") && values.at("kernel") == "product";
  const Values small = product ? Values{{"batch", "70"}, {"in", "130"}, {"out", "19"}}
                               : Values{{"rows", "3k"}, {"tables", "3"}, {"batch", "300"}};
  std::vector<std::pair<std::string, std::string>> all;
  for (const Axis& axis : LabTopic().axes) {
    std::string value = axis.values[0];
    if (small.contains(axis.name)) value = small.at(axis.name);
    if (values.contains(axis.name)) value = values.at(axis.name);
    if (axis.check) axis.check(value);
    all.emplace_back(axis.name, value);
  }
  return Point("", all);
}

// Checks functions as the lab does variants at one point. Throws as CheckVariant does.
template <typename Args>
class Checker {
 public:
  explicit Checker(const Values& values)
      : point_(KernelWith<Args>().make(ctx_, LabPoint(values))) {}

  void operator()(const KernelFunction<Args>& run, bool other_sums = false) {
    CheckVariant(ctx_, "broken", run, point_, other_sums);
  }
  // Expects that it is refused for a reason that has these words.
  void ExpectRefused(const KernelFunction<Args>& run, const std::string& reason = "",
                     bool other_sums = false) {
    EXPECT_THAT([&] { (*this)(run, other_sums); },
                ::testing::ThrowsMessage<Error>(::testing::AllOf(
                    ::testing::StartsWith("variant broken: "), ::testing::HasSubstr(reason))));
  }
  const KernelFunction<Args>& ours() const { return point_.ours; }

 private:
  Context ctx_{{.threads = 2, .seed = 3}};
  KernelPoint<Args> point_;
};

}  // namespace tessera::bench
#endif  // TESSERA_TESTS_BENCH_LAB_LAB_POINT_H_
