#include "data/files/npz.h"

#include <algorithm>
#include <cstring>

#include "data/files/npy.h"
#include "runtime/base/check.h"
#include "runtime/base/checksums.h"

namespace tessera {
namespace {

// Numbers of fixed places in the records of a ZIP archive; reading beyond the end is an error.
class Bytes {
 public:
  Bytes(std::string_view all, uint64_t begin) : all_(all), begin_(begin) {}

  template <typename T>
  T At(uint64_t offset) const {
    T number = 0;
    std::memcpy(&number, Range(offset, sizeof(T)).data(), sizeof(T));
    return number;
  }
  std::string_view Range(uint64_t offset, uint64_t bytes) const {
    if (begin_ > all_.size() || offset > all_.size() - begin_ ||
        bytes > all_.size() - begin_ - offset)
      throw Error("the archive is cut short, or damaged");
    return all_.substr(begin_ + offset, bytes);
  }

 private:
  std::string_view all_;
  uint64_t begin_;
};

constexpr std::string_view kEnd = "PK\5\6", kEnd64 = "PK\6\6", kEntry = "PK\1\2", kLocal = "PK\3\4",
                           kLocator64 = "PK\6\7";
constexpr uint32_t kIn64 = 0xffffffff;  // the number is in a ZIP64 record

void Expect(const Bytes& record, std::string_view mark) {
  if (record.Range(0, 4) != mark) throw Error("it is no ZIP archive, or a damaged one");
}

struct Directory {
  uint64_t begin = 0, entries = 0;
};

Directory FindDirectory(std::string_view all) {
  const size_t end = all.rfind(kEnd);
  if (end == all.npos) throw Error("it is no ZIP archive, or one that is cut short");
  const Bytes record(all, end);
  Directory directory{record.At<uint32_t>(16), record.At<uint16_t>(10)};
  if (directory.begin != kIn64 && directory.entries != 0xffff) return directory;
  if (end < 20 || all.substr(end - 20, 4) != kLocator64) return directory;
  const Bytes end64(all, Bytes(all, end - 20).At<uint64_t>(8));
  Expect(end64, kEnd64);
  return {end64.At<uint64_t>(48), end64.At<uint64_t>(32)};
}

// Sizes and place of an entry that are too large for its own fields, in their fixed order.
void ReadExtra64(const Bytes& extra, uint64_t length, std::initializer_list<uint64_t*> numbers) {
  for (uint64_t at = 0; at + 4 <= length;) {
    const uint64_t id = extra.At<uint16_t>(at), bytes = extra.At<uint16_t>(at + 2);
    at += 4;
    if (id == 1) {
      uint64_t field = at;
      for (uint64_t* number : numbers)
        if (*number == kIn64 && field + 8 <= at + bytes) {
          *number = extra.At<uint64_t>(field);
          field += 8;
        }
    }
    at += bytes;
  }
}

void CheckCrc(std::string_view bytes, uint32_t expected) {
  const uint32_t found = ParallelCrc32(bytes.data(), std::ssize(bytes), 0);
  if (found != expected)
    throw Error(Format("its bytes are not what was written: expected CRC-32 {}, got {}",
                       Crc32Text(expected), Crc32Text(found)));
}

std::string WithoutEnd(std::string_view name) {
  if (name.ends_with(".npy")) name.remove_suffix(4);
  return std::string(name);
}

}  // namespace

NpzFile::NpzFile(const std::string& path) : file_(path) {
  try {
    ReadDirectory();
  } catch (const Error& error) {
    throw Error(Format("{}: {}", path, error.what()));
  }
}

void NpzFile::ReadDirectory() {
  const Directory directory = FindDirectory(Text());
  uint64_t at = directory.begin;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    const Bytes record(Text(), at);
    Expect(record, kEntry);
    const uint64_t name = record.At<uint16_t>(28), extra = record.At<uint16_t>(30),
                   comment = record.At<uint16_t>(32);
    Entry entry{.name = WithoutEnd(record.Range(46, name)),
                .local_header = record.At<uint32_t>(42),
                .bytes = record.At<uint32_t>(24),
                .crc = record.At<uint32_t>(16),
                .stored = record.At<uint16_t>(10) == 0};
    uint64_t packed = record.At<uint32_t>(20);
    ReadExtra64(Bytes(record.Range(46 + name, extra), 0), extra,
                {&entry.bytes, &packed, &entry.local_header});
    entries_.push_back(std::move(entry));
    at += 46 + name + extra + comment;
  }
}

std::string_view NpzFile::BytesOf(const Entry& entry) const {
  const Bytes local(Text(), entry.local_header);
  Expect(local, kLocal);
  const uint64_t before = 30 + local.At<uint16_t>(26) + local.At<uint16_t>(28);
  return local.Range(before, entry.bytes);
}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.name);
  return names;
}

Tensor NpzFile::Array(const std::string& name) const {
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& e) { return e.name == name; });
  if (entry == entries_.end())
    throw Error(Format("{}: there is no array '{}'", file_.path(), name));
  if (!entry->stored)
    throw Error(Format("{}: array '{}': expected it stored, as numpy.savez does, got it compressed",
                       file_.path(), name));
  try {
    const std::string_view bytes = BytesOf(*entry);
    const Tensor elements = NpyElements(bytes, file_.owner());
    if (entry->bytes <= kMostChecked) CheckCrc(bytes, entry->crc);
    return elements;
  } catch (const Error& error) {
    throw Error(Format("{}: array '{}': {}", file_.path(), name, error.what()));
  }
}

}  // namespace tessera
