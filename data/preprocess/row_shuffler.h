#ifndef TESSERA_DATA_PREPROCESS_ROW_SHUFFLER_H_
#define TESSERA_DATA_PREPROCESS_ROW_SHUFFLER_H_
// Puts rows that are too many for memory in random order, every order with equal chance: each row
// has a random key, by whose first bits it goes to a bucket, a file; then one bucket after the
// other is read, sorted by key and given out. A bucket that memory does not hold is cut by the next
// bits. The order depends on the seed and the number of rows alone.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera {

class RowShuffler {
 public:
  // Buckets are files in `folder`, which exists. Throws Error where they cannot be written.
  RowShuffler(const std::string& folder, int64_t memory_bytes, uint64_t seed);

  // Rows may have different sizes.
  void Add(std::span<const char> row);
  // Gives all rows to `fn`. Called once, after the last Add.
  void Drain(const std::function<void(std::span<const char> row)>& fn);

 private:
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  using Fn = std::function<void(std::span<const char>)>;
  struct Head {
    uint64_t key, bytes;
  };
  // Buckets of the bits of keys behind the first `bits`.
  RowShuffler(const std::string& folder, int64_t memory_bytes, int bits);
  std::FILE* FileOf(size_t bucket);
  void Put(const Head& head, const char* row);
  void DrainBucket(std::FILE* bucket, int64_t bytes, const Fn& fn);
  void DrainInParts(std::FILE* bucket, int64_t bytes, const Fn& fn);
  void Read(std::FILE* bucket, void* to, size_t count) const;

  std::string folder_;
  int64_t memory_bytes_;
  uint64_t seed_ = 0, added_ = 0;
  int bits_ = 0;
  std::vector<File> files_;  // opened for their first rows, and unlinked then
};

}  // namespace tessera
#endif  // TESSERA_DATA_PREPROCESS_ROW_SHUFFLER_H_
