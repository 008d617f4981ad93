// Files that are cut while they are mapped: a read of a missing part is known to be wrong, and
// reads of other files go on.
#include "runtime/files/mapping_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>

#include "runtime/base/check.h"
#include "runtime/files/mapped_file.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const int64_t kPage = sysconf(_SC_PAGESIZE);

std::string FileOfPages(const char* name, int64_t pages) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path) << std::string(static_cast<size_t>(pages * kPage), 'x');
  return path;
}

TEST(MappingFaults, WhatIsReadOfACutFileIsKnownToBeWrong) {
  const std::string path = FileOfPages("cut", 4);
  const MappedFile cut(path), whole(FileOfPages("whole", 2));
  EXPECT_EQ(cut.data()[3 * kPage], 'x');
  ASSERT_EQ(truncate(path.c_str(), kPage), 0);
  EXPECT_EQ(cut.data()[5], 'x');
  CheckMapping(cut.data());
  EXPECT_EQ(cut.data()[2 * kPage + 7], 0);
  EXPECT_EQ(cut.data()[3 * kPage], 0);
  EXPECT_TRUE(AnyMappingFaulted());
  EXPECT_THAT([&] { CheckMapping(cut.data() + 1); },
              ThrowsMessage<Error>(HasSubstr("cut: it was cut, or could not be read, while")));
  EXPECT_EQ(whole.data()[kPage], 'x');
  CheckMapping(whole.data());
  EXPECT_EQ(cut.data()[5], 'x');
}

TEST(MappingFaults, AWatchedFileThatWasCutInsideAPageIsKnownToBeWrongWithoutAFault) {
  const std::string path = FileOfPages("tail", 2);
  const MappedFile watched(path, /*watched=*/true), other(path);
  EXPECT_EQ(GuardedMappingOf(watched.data() + kPage + 1), watched.data());
  CheckMappedFile(watched.data());
  ASSERT_EQ(rename(path.c_str(), (path + ".moved").c_str()), 0);
  CheckMappedFile(watched.data());
  ASSERT_EQ(truncate((path + ".moved").c_str(), kPage + 5), 0);
  EXPECT_EQ(watched.data()[kPage + 5], 0);
  CheckMapping(watched.data());  // there was no fault
  EXPECT_THAT([&] { CheckMappedFile(watched.data()); },
              ThrowsMessage<Error>(HasSubstr("tail: it was cut")));
  CheckMappedFile(other.data());
}

TEST(MappingFaults, ANewMappingBeginsAnew) {
  const std::string path = FileOfPages("again", 1);
  {
    const MappedFile cut(path);
    ASSERT_EQ(truncate(path.c_str(), 0), 0);
    EXPECT_EQ(cut.data()[0], 0);
    EXPECT_THROW(CheckMapping(cut.data()), Error);
  }
  const MappedFile mapped(FileOfPages("again", 1));
  EXPECT_EQ(mapped.data()[0], 'x');
  CheckMapping(mapped.data());
}

TEST(MappingFaultsDeathTest, OtherFaultsEndTheProcessAsBefore) {
  EXPECT_EXIT(
      {
        const MappedFile guarded(FileOfPages("guarded", 1));
        FILE* const file = std::tmpfile();
        const auto* bytes = static_cast<const char*>(
            mmap(nullptr, static_cast<size_t>(kPage), PROT_READ, MAP_SHARED, fileno(file), 0));
        std::printf("%c", bytes[0]);
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace tessera
