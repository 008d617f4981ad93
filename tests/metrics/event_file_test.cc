// Event files read back by a reader that shares nothing with the writer: checksums by long
// division, fields as the formats' descriptions say.
#include "metrics/log/event_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

#include "metrics/log/crc32c.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

// The checksum one bit at a time, on the polynomial as it is written: x^32 + 0x1edc6f41.
uint32_t SlowCrc32c(const std::string& bytes) {
  const auto reversed = [](uint32_t value, int bits) {
    uint32_t result = 0;
    for (int i = 0; i < bits; ++i) result |= (value >> i & 1u) << (bits - 1 - i);
    return result;
  };
  uint32_t remainder = 0xffffffffu;
  for (const char c : bytes) {
    remainder ^= reversed(static_cast<unsigned char>(c), 8) << 24;
    for (int bit = 0; bit < 8; ++bit)
      remainder = remainder & 0x80000000u ? remainder << 1 ^ 0x1edc6f41u : remainder << 1;
  }
  return reversed(~remainder, 32);
}

uint32_t Unmask(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return rotated >> 17 | rotated << 15;
}

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);  // the CRC catalogue's check
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(SlowCrc32c("123456789"), 0xe3069283u);
}

class Bytes {
 public:
  explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}
  bool done() const { return at_ == bytes_.size(); }
  std::string Take(size_t count) {
    TESSERA_CHECK(count <= bytes_.size() - at_, "cut short at {}", at_);
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  uint64_t Little(int count) {
    uint64_t value = 0;
    for (int i = 0; i < count; ++i)
      value |= static_cast<uint64_t>(static_cast<unsigned char>(Take(1)[0])) << (8 * i);
    return value;
  }
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(Take(1)[0]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

// A protobuf's field.
struct Field {
  uint64_t number, kind, value = 0;
  std::string bytes = {};
};

std::vector<Field> Fields(const std::string& message) {
  std::vector<Field> fields;
  for (Bytes in(message); !in.done();) {
    const uint64_t key = in.Varint();
    Field field{key >> 3, key & 7};
    if (field.kind == 0) field.value = in.Varint();
    if (field.kind == 1) field.value = in.Little(8);
    if (field.kind == 2) field.bytes = in.Take(in.Varint());
    if (field.kind == 5) field.value = in.Little(4);
    fields.push_back(field);
  }
  return fields;
}

std::vector<std::string> Records(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  std::vector<std::string> records;
  for (Bytes in(text.str()); !in.done();) {
    const std::string length = in.Take(8);
    EXPECT_EQ(Unmask(static_cast<uint32_t>(in.Little(4))), SlowCrc32c(length));
    records.push_back(in.Take(Bytes(length).Little(8)));
    EXPECT_EQ(Unmask(static_cast<uint32_t>(in.Little(4))), SlowCrc32c(records.back()));
  }
  return records;
}

struct Event {
  double wall_time = 0;
  int64_t step = 0;
  std::string version;
  bool starts = false;  // a session, before whose step earlier files count alone
  std::map<std::string, float> scalars;
};

void ReadValue(const std::string& value, Event& event) {
  std::string tag;
  float number = std::numeric_limits<float>::quiet_NaN();
  for (const Field& field : Fields(value)) {
    if (field.number == 1 && field.kind == 2) tag = field.bytes;
    const auto bits = static_cast<uint32_t>(field.value);
    if (field.number == 2 && field.kind == 5) std::memcpy(&number, &bits, sizeof number);
  }
  event.scalars[tag] = number;
}

Event ReadEvent(const std::string& record) {
  Event event;
  for (const Field& field : Fields(record)) {
    if (field.number == 1 && field.kind == 1)
      std::memcpy(&event.wall_time, &field.value, sizeof event.wall_time);
    if (field.number == 2 && field.kind == 0) event.step = static_cast<int64_t>(field.value);
    if (field.number == 3 && field.kind == 2) event.version = field.bytes;
    if (field.number == 7 && field.kind == 2) event.starts = Fields(field.bytes).at(0).value == 1;
    if (field.number == 5 && field.kind == 2)
      for (const Field& value : Fields(field.bytes)) ReadValue(value.bytes, event);
  }
  return event;
}

std::string Folder(const std::string& name) { return ::testing::TempDir() + name; }

TEST(EventFile, IsReadBackByAnotherReader) {
  EventFileWriter writer(Folder("runs/one"));
  EXPECT_NE(std::filesystem::path(writer.path()).filename().string().find("tfevents"),
            std::string::npos);
  writer.AddScalars(100, 1.75e9, {{"ne-click|window_ne", 0.8125}, {"auc", 0.7}});
  writer.AddScalars(int64_t{1} << 40, 1.75e9 + 0.5,
                    {{"loss", 0.25},
                     {"no", std::numeric_limits<double>::quiet_NaN()},
                     {"far", std::numeric_limits<double>::infinity()}});
  const std::vector<std::string> records = Records(writer.path());
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(ReadEvent(records[0]).version, "brain.Event:2");
  const Event first = ReadEvent(records[2]), second = ReadEvent(records[3]);
  EXPECT_EQ(first.step, 100);
  EXPECT_EQ(first.wall_time, 1.75e9);
  EXPECT_EQ(first.scalars,
            (std::map<std::string, float>{{"ne-click|window_ne", 0.8125f}, {"auc", 0.7f}}));
  EXPECT_EQ(second.step, int64_t{1} << 40);
  EXPECT_EQ(second.scalars, (std::map<std::string, float>{{"loss", 0.25f}}));
}

TEST(EventFile, AFileThatGoesOnSaysWhereItBegins) {
  const EventFileWriter writer(Folder("runs/goes_on"), 41);
  const std::vector<std::string> records = Records(writer.path());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(ReadEvent(records[1]).step, 41);
  EXPECT_TRUE(ReadEvent(records[1]).starts);
}

TEST(EventFile, TwoInOneFolderAreTwoFiles) {
  const EventFileWriter a(Folder("runs/two")), b(Folder("runs/two"));
  EXPECT_NE(a.path(), b.path());
}

TEST(EventFile, AFolderThatCannotBeMadeIsAnError) {
  const std::string file = Folder("a_file");
  std::ofstream(file) << "x";
  EXPECT_THROW(EventFileWriter(file + "/runs"), Error);
}

}  // namespace
}  // namespace tessera
