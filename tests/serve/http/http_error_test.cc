#include "serve/http/http_error.h"

#include <gtest/gtest.h>

#include <new>

namespace tessera::serve {
namespace {

TEST(HttpError, MemoryThatRunsOutIsNotTheClientsFault) {
  EXPECT_EQ(ErrorResponse(std::bad_alloc()).status, 503);
  EXPECT_EQ(ErrorResponse(Error("what")).status, 400);
}

}  // namespace
}  // namespace tessera::serve
