#include "bench/pictures/roofline_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "runtime/base/check.h"
#include "tests/bench/harness/run_for_tests.h"
#include "tests/bench/harness/svg_reader.h"

namespace tessera::bench {
namespace {

using ::testing::HasSubstr;

// A second a call.
Measurement Computing(const std::string& name, double operations, double bytes, int threads = 1) {
  Measurement row = MadeUpRow(name, "tessera", {1});
  row.facts = {{"operations", operations}};
  row.bytes = bytes;
  row.threads = threads;
  return row;
}

Measurement Limit(const std::string& kind, double bytes, int64_t operations, int threads = 1) {
  Measurement row = MadeUpRow("kind=" + kind, "bare", {1});
  row.values = {{"kind", kind}};
  row.bytes = bytes;
  row.items = operations;
  row.threads = threads;
  return row;
}

const BenchRun kLimits =
    MadeUpRun({Limit("read", 1e10, 0), Limit("copy", 8e9, 0), Limit("gather:64", 2e9, 1),
               Limit("fma", 0, 100'000'000'000), Limit("read", 2e10, 0, 2),
               Limit("fma", 0, 200'000'000'000, 2)});

std::string ErrorOf(const BenchRun& run, const BenchRun& limits) {
  try {
    RooflineSvg(run, limits);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<SvgElement> Elements(const std::string& svg, const std::string& tag) {
  std::vector<SvgElement> found;
  for (const SvgElement& e : ReadSvg(svg))
    if (e.tag == tag) found.push_back(e);
  return found;
}

TEST(RooflineSvgTest, DrawsAPointARowUnderItsRoofs) {
  const std::string svg =
      RooflineSvg(MadeUpRun({Computing("dim=16", 2e9, 1e10), Computing("dim=64", 4e9, 1e10, 2),
                             MadeUpRow("sequence", "tessera", {1})}),
                  kLimits);
  ExpectReadable(svg);
  EXPECT_EQ(Elements(svg, "circle").size(), 2u) << "a row without operations is none";
  EXPECT_EQ(Elements(svg, "path").size(), 3u + 2u) << "slopes and the top, by threads";
  EXPECT_THAT(svg, HasSubstr("1 thread: read 10 GB/s, copy 8 GB/s, fma 100G operations/s"));
  EXPECT_THAT(svg, HasSubstr("dim=64, 2 threads, tessera"));
}

// A row that moves its bytes as fast as the stream lies on the slope.
TEST(RooflineSvgTest, ARowAtTheLimitLiesOnItsRoof) {
  const BenchRun limits = MadeUpRun({Limit("read", 1e10, 0), Limit("fma", 0, 100'000'000'000)});
  const std::string svg = RooflineSvg(MadeUpRun({Computing("a", 2.5e9, 1e10)}), limits);
  const SvgElement circle = Elements(svg, "circle").at(0);
  double x1, y1, x2, y2;
  ASSERT_EQ(std::sscanf(Elements(svg, "path").at(0).attributes.at("d").c_str(), "M%lf %lf L%lf %lf",
                        &x1, &y1, &x2, &y2),
            4);
  const double part = (circle.Number("cx") - x1) / (x2 - x1);
  EXPECT_NEAR(circle.Number("cy"), y1 + part * (y2 - y1), 0.2);
}

TEST(RooflineSvgTest, SaysWhatIsMissing) {
  EXPECT_THAT(ErrorOf(MadeUpRun({MadeUpRow("a", "tessera", {1})}), kLimits),
              HasSubstr("no row has operations and bytes"));
  EXPECT_THAT(ErrorOf(MadeUpRun({Computing("a", 1, 1, 4)}), kLimits),
              HasSubstr("no roofs for 4 threads: tessera bench limits --kind read,copy,fma "
                        "--threads 4 --json FILE"));
  EXPECT_THAT(ErrorOf(MadeUpRun({Computing("a", 1, 1)}), MadeUpRun({Limit("read", 1e10, 0)})),
              HasSubstr("no roofs for 1 thread:"));
}

}  // namespace
}  // namespace tessera::bench
