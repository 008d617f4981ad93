// Whole trainings at every crossing of their features: each point has the result of the plainest
// run, or is refused by a sentence that names both features.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "optim/column_cut.h"
#include "tests/crossings/check_points.h"
#include "tests/crossings/rules.h"
#include "tests/crossings/training_refusals.h"
#include "tests/crossings/training_run.h"

namespace tessera::testing {
namespace {

std::string Folder() {
  return (std::filesystem::path(::testing::TempDir()) / Format("trainings_{}", getpid())).string();
}

double LargestDifference(const Tensor& got, const Tensor& expected) {
  Context host({.threads = 1});
  const Tensor a = got.To(host, DType::kF32), b = expected.To(host, DType::kF32);
  double largest = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double x = a.data<float>()[i], y = b.data<float>()[i];
    largest = std::max(largest, std::abs(x - y));
  }
  return largest;
}

std::string Compared(const TrainingOutcome& got, const TrainingOutcome& expected) {
  for (const auto& [name, tensor] : expected.tensors) {
    const auto found = got.tensors.find(name);
    if (found == got.tensors.end()) return name + " is missing";
    if (found->second.shape() != tensor.shape()) return name + " has another shape";
    if (!SameBits(found->second, tensor))
      return Format("{} differs by {}", name, LargestDifference(found->second, tensor));
  }
  for (const auto& [name, tensor] : got.tensors)
    if (!expected.tensors.contains(name)) return name + " was not expected";
  return "";
}

// The served model's scores agree with the trainer's, whose ranks get rows through a codec.
std::string ComparedScores(const Point& point, const TrainingOutcome& got) {
  if (point.Is("after", "nothing") || !point.Is("codec", "fp32")) return "";
  const double difference =
      LargestDifference(got.tensors.at("scores"), got.tensors.at("predictions"));
  const bool same_sums = point.Is("sharding", "none") && !point.Is("products", "library");
  const double tolerance = point.Is("after", "int8") ? 0.1 : same_sums ? 0 : 1e-5;
  return difference <= tolerance ? "" : Format("scores differ from predictions by {}", difference);
}

// Ranks must be near one process, and groups near groups of one rank, unless a codec, semi_sync,
// rows on disk or columns cut under this rule change the numbers, or groups have other rows of a
// batch.
std::string ComparedAlone(const Point& point, const TrainingOutcome& got) {
  const bool same_numbers = point.Is("codec", "fp32") && !point.Is("pipeline", "semi_sync") &&
                            !point.Is("location", "DISK") &&
                            (point.Is("groups", "none") || point.Is("ranks", "1"));
  const bool columns = point.Is("sharding", "column_wise|table_column_wise|grid_shard|mixed");
  const bool exact_rule = ColumnCutOf(RuleNamed(point["rule"])) == ColumnCut::kExact;
  if (point.Is("sharding", "none") || !same_numbers || (columns && !exact_rule)) return "";
  const TrainingOutcome alone = RunTrainingAlone(point, Folder());
  const double difference = LargestDifference(got.tensors.at("losses"), alone.tensors.at("losses"));
  return difference < 5e-3 ? "" : Format("losses differ from one process by {}", difference);
}

// Another run has the digests of the record, all of them, and a flipped bit is found.
std::string ComparedVerified(const Point& point) {
  if (point.Is("verify", "none")) return "";
  const TrainingOutcome again = RunTrainingVerified(point, Folder(), /*flips=*/false);
  if (again.added_digests > 0 || again.equal_digests == 0)
    return Format("{} equal digests, {} added", again.equal_digests, again.added_digests);
  try {
    RunTrainingVerified(point, Folder(), /*flips=*/true);
  } catch (const Error& error) {
    const std::string what = error.what();
    return what.find("begins with other values") != what.npos ? "" : what;
  }
  return "a flipped bit was not found";
}

std::string DifferenceOf(const Point& point) {
  const TrainingOutcome got = RunTrainingPoint(point, Folder());
  std::string difference = Compared(got, RunTrainingPlainly(point, Folder()));
  if (difference.empty()) difference = ComparedScores(point, got);
  if (difference.empty()) difference = ComparedAlone(point, got);
  if (difference.empty()) difference = ComparedVerified(point);
  return difference;
}

const Space& Trainings() {
  static const Space space{"trainings", TrainingAxes(), TrainingRefusals(), DifferenceOf};
  return space;
}

TEST(TrainingCrossingsTest, NamedPoint) { CheckNamedPoint(Trainings()); }
TEST(TrainingCrossingsTest, WhatIsRefusedSaysWhy) { CheckRefusals(Trainings()); }
TEST(TrainingCrossingsTest, AllPairs) { CheckAllPairs(Trainings(), /*share=*/6); }
TEST(TrainingCrossingsTest, RandomPoints) {
  CheckRandomPoints(Trainings(), std::getenv("TESSERA_TEST_ALL") ? 2000 : 50);
}

}  // namespace
}  // namespace tessera::testing
