// A log of rows against a plain array: random writes and reads under way at once, by io_uring and
// by threads, in files so small that segments are freed all the time; errors of the disk.
#include "embedding/storage/row_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <random>

#include "runtime/base/check.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int64_t kStride = 320;

void Make(int64_t row, char* record, int64_t bytes) {
  for (int64_t b = 0; b < bytes; ++b) record[b] = static_cast<char>(row * 7 + b);
}

// The records of all rows, and functions that change them.
class PlainRows {
 public:
  PlainRows(int64_t rows, int64_t bytes) : bytes_(bytes) {
    for (int64_t row = 0; row < rows; ++row) {
      rows_.emplace_back(static_cast<size_t>(bytes), 0);
      Make(row, rows_.back().data(), bytes);
    }
  }
  int64_t RandomRow() { return static_cast<int64_t>(random_() % rows_.size()); }
  std::vector<int64_t> RandomRows(size_t most) {
    std::vector<int64_t> rows(1 + random_() % most);
    for (int64_t& row : rows) row = RandomRow();
    return rows;
  }
  std::vector<char> Change(const std::vector<int64_t>& rows) {
    std::vector<char> records;
    for (const int64_t row : rows) {
      for (char& byte : rows_[static_cast<size_t>(row)]) byte = static_cast<char>(random_());
    }
    for (const int64_t row : rows) {
      records.resize(records.size() + kStride);
      std::memcpy(records.data() + records.size() - kStride, rows_[static_cast<size_t>(row)].data(),
                  static_cast<size_t>(bytes_));
    }
    return records;
  }
  const std::vector<char>& at(int64_t row) const { return rows_[static_cast<size_t>(row)]; }

 private:
  int64_t bytes_;
  std::vector<std::vector<char>> rows_;
  std::mt19937_64 random_{20261122};
};

struct Reading {
  std::vector<int64_t> rows;
  std::shared_ptr<std::vector<char>> records;  // the read keeps them too
  std::vector<std::vector<char>> expected;
  RowLog::Read read;
};

// While it lives, nothing of a log's file can be read; writing goes on.
class Unreadable {
 public:
  explicit Unreadable(const RowLog& log) : fd_(log.fd()), kept_(dup(fd_)) {
    const std::string name = "/proc/self/fd/" + std::to_string(fd_);
    const int unreadable = open(name.c_str(), O_WRONLY | (log.direct() ? O_DIRECT : 0));
    EXPECT_GE(unreadable, 0) << name;
    dup2(unreadable, fd_);
    close(unreadable);
  }
  ~Unreadable() {
    dup2(kept_, fd_);
    close(kept_);
  }

 private:
  int fd_, kept_;
};

class RowLogTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("threads")) {
      io_ = internal::MakeThreadBlockIo();
      return;
    }
    std::string reason;
    io_ = internal::MakeUringBlockIo(&reason);
    if (io_ == nullptr) GTEST_SKIP() << "SKIPPED: no io_uring here: " << reason;
  }
  RowLog Log(int64_t rows, int64_t bytes, int64_t segment_bytes) {
    return RowLog(io_, rows, bytes,
                  [bytes](int64_t row, char* record) { Make(row, record, bytes); },
                  {.folder = testing::TempDir(), .table = "t", .segment_bytes = segment_bytes});
  }
  static Reading Start(RowLog& log, PlainRows& plain, std::vector<int64_t> rows) {
    Reading reading;
    reading.records = std::make_shared<std::vector<char>>(rows.size() * kStride);
    for (const int64_t row : rows) reading.expected.push_back(plain.at(row));
    reading.read = log.StartRead(rows, reading.records->data(), kStride, reading.records);
    reading.rows = std::move(rows);
    return reading;
  }
  static void Expect(const Reading& reading) {
    reading.read->Wait();
    for (size_t i = 0; i < reading.rows.size(); ++i)
      ASSERT_EQ(std::memcmp(reading.records->data() + i * kStride, reading.expected[i].data(),
                            reading.expected[i].size()),
                0)
          << "row " << reading.rows[i];
  }
  static std::vector<int64_t> All(const RowLog& log) {
    std::vector<int64_t> rows(static_cast<size_t>(log.rows()));
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
    return rows;
  }

  std::shared_ptr<BlockIo> io_;
};

TEST_P(RowLogTest, IsAnArrayOfRows) {
  for (const auto& [rows, bytes, segment] :
       {std::tuple<int64_t, int64_t, int64_t>{90, 72, 0}, {1000, 13, 4096}, {700, 260, 16384}}) {
    RowLog log = Log(rows, bytes, segment);
    PlainRows plain(rows, bytes);
    std::deque<Reading> under_way;
    for (int step = 0; step < 150; ++step) {
      const std::vector<int64_t> changed = plain.RandomRows(60);
      log.CheckWritten();
      log.Write(changed, plain.Change(changed).data(), kStride);
      under_way.push_back(Start(log, plain, plain.RandomRows(50)));
      if (under_way.size() <= 3) continue;
      Expect(under_way.front());
      under_way.pop_front();
      ASSERT_FALSE(HasFailure()) << rows << " rows, step " << step;
    }
    for (const Reading& reading : under_way) Expect(reading);
    Expect(Start(log, plain, All(log)));
    if (bytes == 260) {  // elsewhere segments may just die out
      EXPECT_GT(log.stats().rows_moved, 0);
    }
    EXPECT_LT(log.stats().rows_moved, 3 * log.stats().rows_written);
    EXPECT_GT(io_->stats().bytes_read, 0);
  }
}

TEST_P(RowLogTest, TheBytesOfItsFileAreKnownBefore) {
  for (const auto& [rows, bytes] : {std::pair<int64_t, int64_t>{1, 1}, {1000, 68}, {3, 9000}})
    EXPECT_EQ(Log(rows, bytes, 0).file_bytes(), RowLog::FileBytes(rows, bytes));
  EXPECT_GT(RowLog::FileBytes(100'000, 68), 100'000 * 68 * 3 / 2);
}

TEST_P(RowLogTest, RecordsLongerThanABlock) {
  RowLog log = Log(20, 5000, 0);
  std::vector<char> records(20 * 5008, 3);
  for (int round = 0; round < 40; ++round) log.Write(All(log), records.data(), 5008);
  std::vector<char> read(records.size());
  log.StartRead(All(log), read.data(), 5008)->Wait();
  for (size_t row = 0; row < 20; ++row)
    EXPECT_EQ(std::memcmp(read.data() + row * 5008, records.data(), 5000), 0);
}

TEST_P(RowLogTest, NeighboursInABlockAreReadOnce) {
  RowLog log = Log(1000, 56, 4096);  // 64 a block
  std::vector<char> records(1000 * kStride, 1);
  log.Write(All(log), records.data(), kStride);
  log.StartRead(std::vector<int64_t>{0, 1, 2, 63}, records.data(), kStride)->Wait();
  EXPECT_EQ(log.stats().blocks_read, 1);
  log.StartRead(std::vector<int64_t>{100, 65, 127, 5}, records.data(), kStride)->Wait();
  EXPECT_EQ(log.stats().blocks_read, 3);
  EXPECT_EQ(log.stats().rows_made, 0);
}

TEST_P(RowLogTest, NeighbouringBlocksOfASegmentAreOneRead) {
  RowLog log = Log(8000, 56, 8 * 4096);  // 64 a block
  PlainRows plain(8000, 56);
  log.Write(All(log), plain.Change(All(log)).data(), kStride);  // the first segments are on disk
  const auto reads_of = [&](const std::vector<int64_t>& rows) {
    const int64_t reads = io_->stats().reads, bytes = io_->stats().bytes_read,
                  blocks = log.stats().blocks_read;
    Expect(Start(log, plain, rows));
    EXPECT_EQ(io_->stats().bytes_read - bytes, 4096 * (log.stats().blocks_read - blocks));
    return io_->stats().reads - reads;
  };
  EXPECT_EQ(reads_of({70, 0, 1, 130, 64}), 1);            // blocks 0 to 2
  EXPECT_EQ(reads_of({0, 200, 129}), 2);                  // nobody asks for block 1
  EXPECT_EQ(reads_of({0, 64, 128, 192, 256, 320}), 2);    // of at most kOwnReadBytes
  EXPECT_EQ(reads_of({7 * 64, 8 * 64, 9 * 64 + 63}), 2);  // of two segments
  Expect(Start(log, plain, All(log)));
}

// Nothing is lost: the disk is readable later, and gives what it should.
TEST_P(RowLogTest, AReadThatFailsSaysSoAndMayBeRepeated) {
  RowLog log = Log(500, 100, 4096);
  PlainRows plain(500, 100);
  log.Write(All(log), plain.Change(All(log)).data(), kStride);
  for (int64_t i = 0; i < 5; ++i)  // what was written before is on disk then
    log.Write(All(log), plain.Change(All(log)).data(), kStride);
  const std::vector<int64_t> rows = {1, 2, 200, 300};
  {
    const Unreadable unreadable(log);
    EXPECT_THAT([&] { Expect(Start(log, plain, rows)); },
                ThrowsMessage<Error>(HasSubstr("rows on disk: reading of 4096 bytes at")));
  }
  Expect(Start(log, plain, All(log)));
}

// Wherever a byte of the file was changed, a read returns the written row or an error.
TEST_P(RowLogTest, FlippedBytesAreRefused) {
  RowLog log = Log(500, 100, 4096);
  PlainRows plain(500, 100);
  for (int64_t i = 0; i < 5; ++i) log.Write(All(log), plain.Change(All(log)).data(), kStride);
  Expect(Start(log, plain, All(log)));
  const std::string name = "/proc/self/fd/" + std::to_string(log.fd());
  const int file = open(name.c_str(), O_RDWR);
  ASSERT_GE(file, 0);
  int refused = 0;
  for (int64_t at = 0; at < log.file_bytes(); at += 37) {
    char byte = 0;
    if (pread(file, &byte, 1, at) != 1) break;
    const char other = static_cast<char>(byte ^ (1 << at % 8));
    ASSERT_EQ(pwrite(file, &other, 1, at), 1);
    try {
      Expect(Start(log, plain, All(log)));  // of a free segment, or between records
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("of table t is not what was written, at byte"));
      ++refused;
    }
    ASSERT_EQ(pwrite(file, &byte, 1, at), 1);
  }
  close(file);
  EXPECT_GT(refused, 500);
  Expect(Start(log, plain, All(log)));
}

TEST_P(RowLogTest, WhatCannotBeWrittenStaysInMemory) {
  std::signal(SIGXFSZ, SIG_IGN);
  RowLog log = Log(3000, 100, 4096);
  PlainRows plain(3000, 100);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit none = {8192, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &none);
  bool told = false;
  for (int step = 0; step < 15; ++step) {
    const std::vector<int64_t> changed = plain.RandomRows(300);
    log.Write(changed, plain.Change(changed).data(), kStride);
    try {
      log.CheckWritten();
    } catch (const Error& error) {
      told = true;
      EXPECT_THAT(error.what(), HasSubstr("rows on disk: writing of 4096 bytes at"));
    }
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(told);
  Expect(Start(log, plain, All(log)));
  for (int step = 0; step < 50; ++step) {
    const std::vector<int64_t> changed = plain.RandomRows(300);
    log.Write(changed, plain.Change(changed).data(), kStride);
  }
  Expect(Start(log, plain, All(log)));
}

// A segment has two records, of which one dies at a time: free segments come from moving alone.
TEST_P(RowLogTest, WhatCannotBeMovedIsMovedLater) {
  constexpr int64_t kRows = 300, kBytes = 2000;
  RowLog log = Log(kRows, kBytes, 4096);
  std::vector<std::vector<char>> plain(kRows, std::vector<char>(kBytes));
  char value = 0;
  const auto write_each = [&](int64_t step) {
    for (int64_t row = 0; row < kRows; row += step) {
      std::vector<char>& record = plain[static_cast<size_t>(row)];
      std::fill(record.begin(), record.end(), ++value);
      log.Write(std::vector<int64_t>{row}, record.data(), kBytes);
    }
  };
  write_each(1);
  write_each(2);
  {
    const Unreadable unreadable(log);
    write_each(4);
    EXPECT_THAT([&] { log.CheckWritten(); },
                ThrowsMessage<Error>(HasSubstr("rows on disk: reading of 4096 bytes at")));
  }
  write_each(8);
  EXPECT_GT(log.stats().rows_moved, 2);
  std::vector<char> read(kRows * kBytes);
  log.StartRead(All(log), read.data(), kBytes)->Wait();
  for (size_t row = 0; row < kRows; ++row)
    EXPECT_EQ(std::memcmp(read.data() + row * kBytes, plain[row].data(), kBytes), 0) << row;
}

TEST_P(RowLogTest, NoRoomIsAnErrorAtOnce) {
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit none = {1 << 16, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &none);
  EXPECT_THAT([&] { Log(3000, 100, 0); }, ThrowsMessage<Error>(HasSubstr("files are limited to")));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT([&] { RowLog(io_, 3, 8, nullptr, {.folder = "/nowhere", .table = "t"}); },
              ThrowsMessage<Error>(HasSubstr("/nowhere: no scratch file")));
}

INSTANTIATE_TEST_SUITE_P(, RowLogTest, testing::Values("uring", "threads"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera
