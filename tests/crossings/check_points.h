#ifndef TESSERA_TESTS_CROSSINGS_CHECK_POINTS_H_
#define TESSERA_TESTS_CROSSINGS_CHECK_POINTS_H_
// A space of features, checked: refusals are met as they are written down, all other pairs and
// random points have the result of their reference.
#include <functional>
#include <string>
#include <vector>

#include "tests/crossings/point.h"

namespace tessera::testing {

struct Space {
  std::string name;
  const std::vector<Axis>& axes;
  const std::vector<Refusal>& refusals;
  // Runs a point and its reference: what is different; "" if nothing is. Throws Error where the
  // library refuses the point.
  std::function<std::string(const Point&)> difference;
};

// The point has the result of its reference.
void CheckPoint(const Space& space, const Point& point);
// Each pair that a refusal names is refused by its sentence.
void CheckRefusals(const Space& space);
// All pairs that no refusal names; with TESSERA_TEST_ALL unset, every `share`-th point.
void CheckAllPairs(const Space& space, int share = 1);
// `count` points at random without refusals. TESSERA_CROSSINGS_SEED begins elsewhere.
void CheckRandomPoints(const Space& space, int count);
// The point that the environment variable TESSERA_POINT names, as a failure does: "rule=adam
// ids=mch". False where it names none.
bool CheckNamedPoint(const Space& space);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_CROSSINGS_CHECK_POINTS_H_
