// The memory and the clock of a process.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "runtime/base/process_memory.h"
#include "runtime/base/process_text.h"

namespace tessera {
namespace {

TEST(MemoryOfProcess, CountsWhatIsTouchedAndKeepsThePeak) {
  constexpr int64_t kBytes = 64 << 20;
  const ProcessMemory before = MemoryOfProcess();
  EXPECT_GT(before.bytes, 0);
  EXPECT_GE(before.peak_bytes, before.bytes);
  auto block = std::make_unique_for_overwrite<volatile char[]>(kBytes);
  for (int64_t i = 0; i < kBytes; i += 4096) block[i] = 1;
  EXPECT_GT(MemoryOfProcess().bytes, before.bytes + kBytes / 2);
  block.reset();
  const ProcessMemory after = MemoryOfProcess();
  EXPECT_GT(after.peak_bytes, before.bytes + kBytes / 2);
  EXPECT_LE(after.bytes, after.peak_bytes);
}

TEST(UtcTimeText, HasMilliseconds) {
  using std::chrono::milliseconds;
  const std::chrono::system_clock::time_point epoch{};
  EXPECT_EQ(UtcTimeText(epoch), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(UtcTimeText(epoch + milliseconds(1'795'696'496'007)), "2026-11-26T12:34:56.007Z");
  EXPECT_EQ(UtcTimeText(epoch - milliseconds(1)), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(UtcTimeText().size(), 20u);
}

TEST(ShellText, AShellTakesItApartAgain) {
  EXPECT_EQ(ShellText({"train", "--data", "a.csv", "x=1"}), "train --data a.csv x=1");
  EXPECT_EQ(ShellText({"days/*.csv", "a b", "", "it's", "ä"}),
            "'days/*.csv' 'a b' '' 'it'\\''s' 'ä'");
}

}  // namespace
}  // namespace tessera
