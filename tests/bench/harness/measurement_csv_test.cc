#include "bench/files/measurement_csv.h"

#include <gtest/gtest.h>

#include "tests/bench/harness/run_for_tests.h"

namespace tessera::bench {
namespace {

TEST(MeasurementCsvTest, HasAColumnForEachAxisAndFact) {
  Measurement first = MadeUpRow("D16", "tessera", {0.5, 0.5}, {0.25, 0.25});
  first.bytes = 1e9;
  first.items = 4;
  first.values = {{"dim", "16"}};
  Measurement second = MadeUpRow("say \"x\"", "a, b", {2.0});
  second.threads = 2;
  second.cold = false;
  second.values = {{"skew", "uniform"}};
  second.facts = {{"distinct", 0.5}};
  EXPECT_EQ(
      RunToCsv(MadeUpRun({first, second})),
      "name,case,threads,contender,caches,rounds,seconds,min,p10,p90,p99,spread,limit_seconds,"
      "share,"
      "bytes,gbps,items,items_per_second,axis_dim,axis_skew,fact_distinct\r\n"
      "lookup/D16/1t,D16,1,tessera,cold,2,0.5,0.5,0.5,0.5,0.5,0,0.25,0.5,1e+09,2,4,8,16,,\r\n"
      "\"lookup/say \"\"x\"\"/2t\",\"say \"\"x\"\"\",2,\"a, b\",warm,1,2,2,2,2,2,0,,,,,,,,uniform,"
      "0.5\r\n");
}

}  // namespace
}  // namespace tessera::bench
