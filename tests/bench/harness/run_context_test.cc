#include "bench/harness/run_context.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace tessera::bench {
namespace {

TEST(RunContextTest, SaysWhatAResultDependsOn) {
  std::map<std::string, std::string> context;
  for (const auto& [name, value] : RunContext()) context[name] = value;
  for (const char* name : {"time", "command", "commit", "build", "compiler", "flags", "isa",
                           "caches", "huge_pages", "governor", "kernel"})
    EXPECT_FALSE(context[name].empty()) << name;
  EXPECT_EQ(context["time"].size(), std::string("2026-11-25T02:00:00Z").size());
  EXPECT_NE(context["command"].find("harness_test"), std::string::npos) << context["command"];
  EXPECT_NE(context["flags"].find("-ffp-contract=off"), std::string::npos) << context["flags"];
}

// `git gc` moves refs into one file.
TEST(RunContextTest, FindsACommitThatIsPacked) {
  const std::filesystem::path before = std::filesystem::current_path();
  const std::filesystem::path checkout = std::filesystem::path(::testing::TempDir()) / "checkout";
  std::filesystem::create_directories(checkout / ".git");
  std::filesystem::create_directories(checkout / "bench");
  std::ofstream(checkout / "bench/topics.cc") << "\n";
  std::ofstream(checkout / ".git/HEAD") << "ref: refs/heads/main\n";
  std::ofstream(checkout / ".git/packed-refs") << "# pack-refs\nabc refs/heads/other\n"
                                                  "0123 refs/heads/main\n";
  std::filesystem::current_path(checkout);
  std::map<std::string, std::string> context;
  for (const auto& [name, value] : RunContext()) context[name] = value;
  std::filesystem::current_path(before);
  std::filesystem::remove_all(checkout);
  EXPECT_EQ(context["commit"], "0123");
}

}  // namespace
}  // namespace tessera::bench
