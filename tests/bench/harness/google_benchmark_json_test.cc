#include "bench/files/google_benchmark_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/harness/run_for_tests.h"

namespace tessera::bench {
namespace {

using ::testing::HasSubstr;

TEST(GoogleBenchmarkJsonTest, HasARepetitionARoundAndAggregates) {
  Measurement row = MadeUpRow("D128", "tessera", {0.25, 0.5, 0.125});
  row.threads = 2;
  row.items = 20;
  const std::string json = RunToGoogleBenchmarkJson(MadeUpRun({row}));
  for (const char* field : {R"("name": "lookup/D128/2t/tessera")", R"("real_time": 250000000.0)",
                            R"("run_type": "iteration")", R"("repetition_index": 2)",
                            R"("name": "lookup/D128/2t/tessera_median")",
                            R"("aggregate_name": "stddev")", R"("time_unit": "ns")",
                            R"("items_per_second": 80.0)", R"("library_build_type": "release")"})
    EXPECT_THAT(json, HasSubstr(field));
  EXPECT_TRUE(json.starts_with("{\n \"context\": {")) << json.substr(0, 40);
}

}  // namespace
}  // namespace tessera::bench
