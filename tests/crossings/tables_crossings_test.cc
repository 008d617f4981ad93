// Collections of tables at every crossing of their features: each point has the result of one
// process with tables in memory, or is refused by a sentence that names both features.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "tests/crossings/check_points.h"
#include "tests/crossings/rules.h"
#include "tests/crossings/tables_refusals.h"
#include "tests/crossings/tables_run.h"

namespace tessera::testing {
namespace {

std::string Folder() {
  return (std::filesystem::path(::testing::TempDir()) / Format("crossings_{}", getpid())).string();
}

std::string Difference(const Tensor& got, const Tensor& expected, Closeness closeness) {
  if (got.shape() != expected.shape() || got.dtype() != expected.dtype())
    return Format("is {}, expected {}", ToString(got.shape()), ToString(expected.shape()));
  if (SameBits(got, expected)) return "";
  Context host({.threads = 1});
  const Tensor a = got.To(host, DType::kF32), b = expected.To(host, DType::kF32);
  double largest = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double x = a.data<float>()[i], y = b.data<float>()[i];
    largest = std::max(largest, std::abs(x - y) / (1 + std::abs(y)));
  }
  const double tolerance = expected.dtype() == DType::kF32 ? 2e-5 : 0.02;
  if (closeness == Closeness::kNear && largest < tolerance) return "";
  return Format("differs by {} at most", largest);
}

// The first difference; empty if there is none.
std::string Compared(const TablesCase& c, const TablesOutcome& got, const TablesOutcome& expected) {
  for (const auto& [name, tensor] : expected.tensors) {
    const auto found = got.tensors.find(name);
    if (found == got.tensors.end()) return name + " is missing";
    const std::string difference = Difference(found->second, tensor, ClosenessOf(c, name));
    if (!difference.empty()) return name + " " + difference;
  }
  for (const auto& [name, tensor] : got.tensors)
    if (!expected.tensors.contains(name) && name != "_iter") return name + " was not expected";
  return "";
}

std::string DifferenceOf(const Point& point) {
  const TablesCase c(point);
  const TablesOutcome got = RunPoint(c, Folder());
  const std::optional<Point> baseline = BaselineOf(point);
  return Compared(c, got, baseline ? RunPoint(TablesCase(*baseline), Folder()) : RunPlainly(c));
}

const Space& Tables() {
  static const Space space{"tables", TablesAxes(), TablesRefusals(), DifferenceOf};
  return space;
}

TEST(TablesCrossingsTest, NamedPoint) { CheckNamedPoint(Tables()); }
TEST(TablesCrossingsTest, WhatIsRefusedSaysWhy) { CheckRefusals(Tables()); }
// Micro-batches of a step have the bits of one batch, for every rule and location of rows.
TEST(TablesCrossingsTest, AccumulationOfEveryRule) {
  int points = 0;
  for (const std::string& rule : RuleNames())
    for (const char* sharding : {"none", "data_parallel", "table_wise", "row_wise", "column_wise"})
      for (const char* pooling : {"SUM", "MEAN", "NONE"}) {
        Point point = Point::Named(TablesAxes(), "accumulation=3 ranks=2 batch=variable");
        point.Set("rule", rule);
        point.Set("sharding", sharding);
        point.Set("pooling", pooling);
        if (RefusalOf(point, TablesRefusals()) != nullptr) continue;
        CheckPoint(Tables(), point);
        ++points;
      }
  std::printf("tables: %d rules, 5 shardings, 3 poolings: %d points\n",
              static_cast<int>(RuleNames().size()), points);
}
// Points where ids do travel once a node, which wants sequences on four ranks: each value of every
// axis beside each sharding.
TEST(TablesCrossingsTest, IdsOnceANodeBesideEveryValue) {
  int points = 0;
  for (const char* sharding : {"table_wise", "column_wise", "row_wise", "grid_shard", "mixed"})
    for (const Axis& axis : TablesAxes())
      for (const std::string& value : axis.values) {
        Point point = Point::Named(TablesAxes(), "dedup=node ranks=4 pooling=NONE");
        point.Set("sharding", sharding);
        if (axis.name == "sharding" || axis.name == "dedup" || axis.name == "ranks") continue;
        point.Set(axis.name, value);
        if (RefusalOf(point, TablesRefusals()) != nullptr) continue;
        CheckPoint(Tables(), point);
        ++points;
      }
  std::printf("tables: ids once a node: %d points\n", points);
}
TEST(TablesCrossingsTest, AllPairs) { CheckAllPairs(Tables()); }
TEST(TablesCrossingsTest, RandomPoints) {
  CheckRandomPoints(Tables(), std::getenv("TESSERA_TEST_ALL") ? 20000 : 500);
}

}  // namespace
}  // namespace tessera::testing
