#include "bench/harness/run_context.h"

#include <gtest/gtest.h>

#include <map>

namespace tessera::bench {
namespace {

TEST(RunContextTest, SaysWhatAResultDependsOn) {
  std::map<std::string, std::string> context;
  for (const auto& [name, value] : RunContext()) context[name] = value;
  for (const char* name :
       {"time", "command", "commit", "build", "compiler", "flags", "isa", "caches", "huge_pages"})
    EXPECT_FALSE(context[name].empty()) << name;
  EXPECT_EQ(context["time"].size(), std::string("2026-11-25T02:00:00Z").size());
  EXPECT_NE(context["command"].find("run_context_test"), std::string::npos) << context["command"];
  EXPECT_NE(context["flags"].find("-ffp-contract=off"), std::string::npos) << context["flags"];
}

}  // namespace
}  // namespace tessera::bench
