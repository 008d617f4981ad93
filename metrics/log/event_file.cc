#include "metrics/log/event_file.h"

#include <unistd.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "metrics/log/crc32c.h"
#include "runtime/base/check.h"
#include "runtime/base/seconds.h"

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename T>
std::string Fixed(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

// Wire types of protobuf.
enum WireKind : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string Tag(uint64_t field, WireKind kind) { return Varint(field << 3 | kind); }
std::string BytesField(uint64_t field, const std::string& bytes) {
  return Tag(field, kBytes) + Varint(bytes.size()) + bytes;
}

// wall_time and step, with which every event begins.
std::string EventHead(double wall_time, int64_t step) {
  return Tag(1, kFixed64) + Fixed(wall_time) + Tag(2, kVarint) +
         Varint(static_cast<uint64_t>(step));
}

std::string FileName() {
  static std::atomic<int> files = 0;
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  return Format("events.out.tfevents.{:010d}.{}.{}.{}", static_cast<int64_t>(internal::WallTime()),
                std::string_view(host), getpid(), files++);
}

}  // namespace

EventFileWriter::EventFileWriter(const std::string& folder, int64_t first_step) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(Format("{}: cannot make this folder: {}", folder, error.message()));
  path_ = (std::filesystem::path(folder) / FileName()).string();
  file_.reset(std::fopen(path_.c_str(), "wb"));
  if (!file_) throw Error(Format("{}: cannot be written: {}", path_, std::strerror(errno)));
  WriteRecord(EventHead(internal::WallTime(), 0) + BytesField(3, "brain.Event:2"));
  constexpr uint64_t kStart = 1;
  WriteRecord(EventHead(internal::WallTime(), first_step) +
              BytesField(7, Tag(1, kVarint) + Varint(kStart)));
}

void EventFileWriter::AddScalars(int64_t step, double wall_time,
                                 const std::map<std::string, double>& values) {
  std::string summary;
  for (const auto& [tag, value] : values)
    if (std::isfinite(value))
      summary +=
          BytesField(1, BytesField(1, tag) + Tag(2, kFixed32) + Fixed(static_cast<float>(value)));
  WriteRecord(EventHead(wall_time, step) + BytesField(5, summary));
}

void EventFileWriter::WriteRecord(const std::string& bytes) {
  const std::string length = Fixed(static_cast<uint64_t>(bytes.size()));
  const std::string record =
      length + Fixed(MaskedCrc32c(length)) + bytes + Fixed(MaskedCrc32c(bytes));
  if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size() ||
      std::fflush(file_.get()) != 0)
    throw Error(Format("{}: cannot be written: {}", path_, std::strerror(errno)));
}

}  // namespace tessera
