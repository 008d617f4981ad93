#include "runtime/base/build_id.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(BuildIdTest, IsHexadecimalAndStays) {
  const std::string id = BuildId();
  EXPECT_GE(id.size(), 16u) << id;
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
  EXPECT_EQ(id, BuildId());
}

}  // namespace
}  // namespace tessera
