#include "tests/crossings/check_points.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/base/check.h"

namespace tessera::testing {
namespace {

std::string DifferenceOrError(const Space& space, const Point& point) {
  try {
    return space.difference(point);
  } catch (const Error& error) {
    return std::string("refused: ") + error.what();
  }
}

}  // namespace

void CheckPoint(const Space& space, const Point& point) {
  EXPECT_EQ(DifferenceOrError(space, point), "")
      << "TESSERA_POINT='" << point.Name() << "' runs it alone";
}

void CheckRefusals(const Space& space) {
  int points = 0;
  for (const Refusal& refusal : space.refusals) {
    EXPECT_NE(refusal.reason, "") << refusal.says;
    for (const Point& point : RefusedPairs(space.axes, refusal, space.refusals)) {
      ++points;
      const std::string outcome = DifferenceOrError(space, point);
      EXPECT_TRUE(outcome.starts_with("refused: ") && outcome.find(refusal.says) != outcome.npos)
          << point.Name() << " was to be refused by: " << refusal.says
          << "\n  it said: " << outcome;
    }
  }
  std::printf("%s: %d pairs refused, for %zu reasons\n", space.name.c_str(), points,
              space.refusals.size());
}

void CheckAllPairs(const Space& space, int share) {
  const bool all = std::getenv("TESSERA_TEST_ALL") != nullptr;
  const std::vector<Point> points = PointsOfAllPairs(space.axes, space.refusals, 1);
  int run = 0;
  for (size_t i = 0; i < points.size(); ++i)
    if (all || i % static_cast<size_t>(share) == 0) {
      CheckPoint(space, points[i]);
      ++run;
    }
  std::printf("%s: %d of %zu points that have all pairs\n", space.name.c_str(), run, points.size());
}

void CheckRandomPoints(const Space& space, int count) {
  const char* seed = std::getenv("TESSERA_CROSSINGS_SEED");
  std::mt19937 random(seed == nullptr ? 1u : static_cast<unsigned>(std::atoi(seed)));
  for (int i = 0; i < count; ++i)
    CheckPoint(space, RandomPoint(space.axes, space.refusals, random));
  std::printf("%s: %d random points\n", space.name.c_str(), count);
}

bool CheckNamedPoint(const Space& space) {
  const char* name = std::getenv("TESSERA_POINT");
  if (name == nullptr) return false;
  CheckPoint(space, Point::Named(space.axes, name));
  return true;
}

}  // namespace tessera::testing
