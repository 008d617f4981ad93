#include "runtime/files/steady_read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <string>

#include "runtime/files/safetensors.h"
#include "tests/testing/error_of.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

// Storage of numbered bytes: each read has the next of these results, an error below 0, and then
// the number of bytes that it gives at most.
struct Storage {
  std::deque<int> results;
  size_t at = 0, size = 1 << 14;
  int reads = 0;
};

ssize_t ReadStorage(void* cookie, char* out, size_t bytes) {
  auto& storage = *static_cast<Storage*>(cookie);
  ++storage.reads;
  int result = static_cast<int>(bytes);
  if (!storage.results.empty()) {
    result = storage.results.front();
    storage.results.pop_front();
  }
  if (result < 0) {
    errno = -result;
    return -1;
  }
  const size_t count = std::min({bytes, static_cast<size_t>(result), storage.size - storage.at});
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<char>((storage.at + i) % 251);
  storage.at += count;
  return static_cast<ssize_t>(count);
}

int SeekStorage(void* cookie, off64_t* offset, int whence) {
  auto& storage = *static_cast<Storage*>(cookie);
  if (whence == SEEK_CUR) *offset += static_cast<off64_t>(storage.at);
  if (whence == SEEK_END) *offset += static_cast<off64_t>(storage.size);
  storage.at = static_cast<size_t>(*offset);
  return 0;
}

// The bytes that are read of 10,000 and more at a time.
std::string ReadOf(Storage storage, int* reads = nullptr) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      fopencookie(&storage, "rb", {ReadStorage, nullptr, SeekStorage, nullptr}), std::fclose);
  std::string all(20'000, '\0');
  size_t count = ReadSteadily(file.get(), all.data(), 10'000);
  count += ReadSteadily(file.get(), all.data() + count, 10'000);
  all.resize(count);
  if (reads != nullptr) *reads = storage.reads;
  return all;
}

TEST(SteadyRead, AReadThatFailsForAWhileIsMadeAgain) {
  const std::string expected = ReadOf({});
  EXPECT_EQ(expected.size(), size_t{1} << 14);
  for (const int reason : {EINTR, EAGAIN, ETIMEDOUT, EIO}) {
    EXPECT_EQ(ReadOf({.results = {-reason, -reason}}), expected) << reason;
    EXPECT_EQ(ReadOf({.results = {4096, -reason, 3, 100, -reason}}), expected) << reason;
  }
  EXPECT_EQ(ReadOf({.results = {1, 1, 1, 5000}}), expected);  // short reads are no errors
}

TEST(SteadyRead, SaysWhereAndHowOften) {
  const std::deque<int> always(kReadTries, -EIO);
  EXPECT_EQ(ErrorOf([&] { ReadOf({.results = always}); }),
            "cannot be read: Input/output error, at byte 0, in each of 5 tries");
  std::deque<int> later = {4096};
  later.insert(later.end(), always.begin(), always.end());
  EXPECT_EQ(ErrorOf([&] { ReadOf({.results = later}); }),
            "cannot be read: Input/output error, at byte 4096, in each of 5 tries");
  EXPECT_EQ(ErrorOf([&] { ReadOf({.results = {-ESTALE}}); }),
            "cannot be read: Stale file handle, at byte 0");
}

TEST(SteadyRead, ACheckpointThatIsCutWhileItIsReadIsNamed) {
  Context ctx({.threads = 1});
  const std::string path = testing::TempPath("cut.safetensors");
  WriteSafetensors(ctx, path, {.tensors = {{"a", Tensor::Zeros(ctx, {1 << 18})}}, .metadata = {}});
  const SafetensorsFile file(path);
  ASSERT_EQ(truncate(path.c_str(), 1 << 16), 0);
  const std::string error = ErrorOf([&] { file.Read(ctx, file.entries().at("a")); });
  EXPECT_THAT(error, HasSubstr(path));
  EXPECT_THAT(error, HasSubstr("it ends at byte 65536"));
}

}  // namespace
}  // namespace tessera
