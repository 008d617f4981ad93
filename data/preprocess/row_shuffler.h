#ifndef TESSERA_DATA_PREPROCESS_ROW_SHUFFLER_H_
#define TESSERA_DATA_PREPROCESS_ROW_SHUFFLER_H_
// Puts rows that are too many for memory in random order, every order with equal chance: each row
// goes to a random bucket, a file; then one bucket after the other is read, shuffled and given out.
// The order depends on the seed, and the numbers of rows and buckets, alone.
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera {

class RowShuffler {
 public:
  // Buckets are files in `folder`, which exists. Throws Error where memory is so little that there
  // would be too many of them.
  RowShuffler(const std::string& folder, int64_t row_bytes, int64_t rows, int64_t memory_bytes,
              uint64_t seed);

  // REQUIRES: row_bytes of them.
  void Add(std::span<const char> row);
  // Gives all rows to `fn`. Called once, after the last Add.
  void Drain(const std::function<void(std::span<const char> row)>& fn);

  int64_t buckets() const { return static_cast<int64_t>(files_.size()); }

 private:
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  void DrainBucket(size_t bucket, const std::function<void(std::span<const char> row)>& fn);

  size_t row_bytes_;
  uint64_t seed_;
  uint64_t added_ = 0;
  std::string folder_;
  std::vector<File> files_;  // unlinked when they are opened
};

}  // namespace tessera
#endif  // TESSERA_DATA_PREPROCESS_ROW_SHUFFLER_H_
