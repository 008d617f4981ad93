// docs/crossings.md must show the crossings; tools/docs writes it.
#include "tests/crossings/page.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace tessera::testing {
namespace {

TEST(CrossingsPageTest, IsUpToDate) {
  std::ostringstream text;
  text << std::ifstream("docs/crossings.md").rdbuf();
  EXPECT_TRUE(text.str() == CrossingsPage()) << "docs/crossings.md is to be written by tools/docs";
}

}  // namespace
}  // namespace tessera::testing
