#include "data/preprocess/row_shuffler.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "data/row_order.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "runtime/numbers/random.h"

namespace tessera {
namespace {

constexpr int64_t kMaxBuckets = 512;           // open files
constexpr uint64_t kBuckets = 0, kOrders = 1;  // sequences: of rows' buckets, then one a bucket

[[noreturn]] void ThrowErrno(const std::string& folder, const char* what) {
  throw Error(Format("{}: rows to shuffle cannot be {}: {}", folder, what, std::strerror(errno)));
}

}  // namespace

RowShuffler::RowShuffler(const std::string& folder, int64_t row_bytes, int64_t rows,
                         int64_t memory_bytes, uint64_t seed)
    : row_bytes_(static_cast<size_t>(row_bytes)), seed_(seed), folder_(folder) {
  TESSERA_CHECK_GT(memory_bytes, 0, "bytes of memory to shuffle rows");
  const int64_t bytes = row_bytes * rows;
  const int64_t buckets = std::max<int64_t>(1, (bytes + memory_bytes - 1) / memory_bytes);
  if (buckets > kMaxBuckets)
    throw Error(Format("shuffling {} bytes of rows needs at least {} bytes of memory, not {}",
                       bytes, bytes / kMaxBuckets, memory_bytes));
  for (int64_t b = 0; b < buckets; ++b) {
    const std::string path = PathIn(folder, Format("bucket-{}", b));
    files_.emplace_back(std::fopen(path.c_str(), "w+b"), std::fclose);
    if (files_.back() == nullptr) ThrowErrno(folder, "written");
    std::remove(path.c_str());
  }
}

void RowShuffler::Add(std::span<const char> row) {
  TESSERA_CHECK_EQ(row.size(), row_bytes_, "bytes of a row");
  const PhiloxBits bits = Philox(seed_, kBuckets, added_++);
  const auto bucket = static_cast<size_t>(UniformBelow(buckets(), bits.v[0], bits.v[1]));
  if (std::fwrite(row.data(), 1, row.size(), files_[bucket].get()) != row.size())
    ThrowErrno(folder_, "written");
}

void RowShuffler::DrainBucket(size_t bucket, const std::function<void(std::span<const char>)>& fn) {
  const File file = std::move(files_[bucket]);
  if (std::fflush(file.get()) != 0) ThrowErrno(folder_, "written");
  std::vector<char> bytes(static_cast<size_t>(std::ftell(file.get())));
  std::rewind(file.get());
  if (std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size())
    ThrowErrno(folder_, "read");
  std::vector<int64_t> order(bytes.size() / row_bytes_);
  std::iota(order.begin(), order.end(), 0);
  Shuffle(seed_, kOrders + bucket, order);
  for (const int64_t row : order)
    fn(std::span(bytes).subspan(static_cast<size_t>(row) * row_bytes_, row_bytes_));
}

void RowShuffler::Drain(const std::function<void(std::span<const char>)>& fn) {
  for (size_t bucket = 0; bucket < files_.size(); ++bucket) DrainBucket(bucket, fn);
}

}  // namespace tessera
