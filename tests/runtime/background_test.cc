#include "runtime/base/background.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <stdexcept>
#include <thread>

namespace tessera {
namespace {

int Nice() { return getpriority(PRIO_PROCESS, 0); }

TEST(Background, RunsAtALowerPriorityAndLeavesTheCallers) {
  const int before = Nice();
  int inside = -100;
  std::thread::id thread;
  RunInBackground([&] {
    inside = Nice();
    thread = std::this_thread::get_id();
  });
  EXPECT_EQ(inside, std::max(before, 5));
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_EQ(Nice(), before);
}

TEST(Background, ThrowsWhatTheWorkThrows) {
  EXPECT_THROW(RunInBackground([] { throw std::runtime_error("of the work"); }),
               std::runtime_error);
}

}  // namespace
}  // namespace tessera
