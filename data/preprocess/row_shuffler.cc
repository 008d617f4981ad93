#include "data/preprocess/row_shuffler.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "runtime/numbers/random.h"

namespace tessera {
namespace {

constexpr int kKeyBits = 64;
constexpr int kBucketBits = 6, kMaxCuts = 2;  // up to 3·2^6 files are open
constexpr uint64_t kKeys = 0;                 // the sequence of random numbers

[[noreturn]] void ThrowErrno(const std::string& folder, const char* what) {
  throw Error(Format("{}: rows to shuffle cannot be {}: {}", folder, what, std::strerror(errno)));
}

// A file of the folder that goes with the process; a file system that knows no file without a name
// gives it `path` for a moment. Null, with errno, if there can be none.
std::FILE* NamelessFile(const std::string& folder, const std::string& path) {
  int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) {
    file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file >= 0) unlink(path.c_str());
  }
  return file < 0 ? nullptr : fdopen(file, "w+b");
}

}  // namespace

RowShuffler::RowShuffler(const std::string& folder, int64_t memory_bytes, uint64_t seed)
    : RowShuffler(folder, memory_bytes, 0) {
  seed_ = seed;
}

RowShuffler::RowShuffler(const std::string& folder, int64_t memory_bytes, int bits)
    : folder_(folder), memory_bytes_(memory_bytes), bits_(bits) {
  TESSERA_CHECK_GT(memory_bytes, 0, "bytes of memory to shuffle rows");
  for (int b = 0; b < 1 << kBucketBits; ++b) files_.emplace_back(nullptr, std::fclose);
}

std::FILE* RowShuffler::FileOf(size_t bucket) {
  File& file = files_[bucket];
  if (file == nullptr) {
    file.reset(NamelessFile(folder_, PathIn(folder_, Format(".bucket-{}-{}", bits_, bucket))));
    if (file == nullptr) ThrowErrno(folder_, "written");
  }
  return file.get();
}

void RowShuffler::Add(std::span<const char> row) {
  const PhiloxBits random = Philox(seed_, kKeys, added_++);
  Put({uint64_t{random.v[0]} << 32 | random.v[1], row.size()}, row.data());
}

void RowShuffler::Put(const Head& head, const char* row) {
  std::FILE* const file = FileOf(head.key << bits_ >> (kKeyBits - kBucketBits));
  if (std::fwrite(&head, sizeof head, 1, file) != 1 ||
      std::fwrite(row, 1, head.bytes, file) != head.bytes)
    ThrowErrno(folder_, "written");
}

void RowShuffler::Read(std::FILE* bucket, void* to, size_t count) const {
  if (std::fread(to, 1, count, bucket) != count) ThrowErrno(folder_, "read");
}

// Rows of one key, of which there hardly are any, stay in their order.
void RowShuffler::DrainBucket(std::FILE* bucket, int64_t bytes, const Fn& fn) {
  std::vector<char> all(static_cast<size_t>(bytes));
  Read(bucket, all.data(), all.size());
  const auto head_at = [&](size_t at) {
    Head head;
    std::memcpy(&head, all.data() + at, sizeof head);
    return head;
  };
  std::vector<std::pair<uint64_t, size_t>> order;  // keys, and where the rows lie
  for (size_t at = 0; at < all.size(); at += sizeof(Head) + head_at(at).bytes)
    order.emplace_back(head_at(at).key, at);
  std::ranges::sort(order);
  for (const auto& [key, at] : order)
    fn(std::span(all).subspan(at + sizeof(Head), head_at(at).bytes));
}

void RowShuffler::DrainInParts(std::FILE* bucket, int64_t bytes, const Fn& fn) {
  RowShuffler parts(folder_, memory_bytes_, bits_ + kBucketBits);
  std::vector<char> row;
  Head head;
  for (int64_t at = 0; at < bytes; at += static_cast<int64_t>(sizeof head + head.bytes)) {
    Read(bucket, &head, sizeof head);
    row.resize(head.bytes);
    Read(bucket, row.data(), row.size());
    parts.Put(head, row.data());
  }
  parts.Drain(fn);
}

void RowShuffler::Drain(const Fn& fn) {
  for (File& owned : files_) {
    const File file = std::move(owned);
    if (file == nullptr) continue;
    if (std::fflush(file.get()) != 0) ThrowErrno(folder_, "written");
    const int64_t bytes = std::ftell(file.get());
    std::rewind(file.get());
    const bool can_cut = bits_ < kMaxCuts * kBucketBits;
    if (bytes > memory_bytes_ && can_cut)
      DrainInParts(file.get(), bytes, fn);
    else
      DrainBucket(file.get(), bytes, fn);
  }
}

}  // namespace tessera
