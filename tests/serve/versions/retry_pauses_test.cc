#include "serve/versions/retry_pauses.h"

#include <gtest/gtest.h>

#include <chrono>

namespace tessera::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Expects that what failed at `now` waits for `pause`, and not longer.
void ExpectPause(RetryPauses& retries, RetryPauses::Time now, milliseconds pause) {
  retries.NoteFailed("a", "files", now);
  EXPECT_FALSE(retries.IsDue("a", "files", now + pause - milliseconds(1))) << pause.count();
  EXPECT_TRUE(retries.IsDue("a", "files", now + pause)) << pause.count();
}

TEST(RetryPauses, DoubleUpToAMinuteWhileTheFilesStay) {
  RetryPauses retries(seconds(1));
  RetryPauses::Time now{};
  for (const int pause : {1, 2, 4, 8, 16, 32, 60, 60}) {
    ExpectPause(retries, now, seconds(pause));
    now += seconds(pause);
  }
  EXPECT_TRUE(retries.IsDue("b", "files", now));
  EXPECT_TRUE(retries.IsDue("a", "others", now));
  retries.NoteFailed("a", "others", now);
  EXPECT_FALSE(retries.IsDue("a", "others", now));
  EXPECT_TRUE(retries.IsDue("a", "others", now + seconds(1)));  // from the first pause again
}

TEST(RetryPauses, AreForgottenAfterSuccess) {
  RetryPauses retries(seconds(1));
  for (const char* what : {"a", "b"}) retries.NoteFailed(what, "files", {});
  retries.NoteGood("a");
  EXPECT_TRUE(retries.IsDue("a", "files", {}));
  EXPECT_FALSE(retries.IsDue("b", "files", {}));
  retries.Clear();
  EXPECT_TRUE(retries.IsDue("b", "files", {}));
}

TEST(RetryPauses, AreNeverShorterThanTheFirst) {
  RetryPauses retries(minutes(5));
  for (int i = 0; i < 3; ++i) ExpectPause(retries, {}, minutes(5));
}

}  // namespace
}  // namespace tessera::serve
