#ifndef TESSERA_BENCH_LAB_GUARDED_BYTES_H_
#define TESSERA_BENCH_LAB_GUARDED_BYTES_H_
// Memory that a kernel writes to, between two stretches that nobody may write to.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::bench {

class GuardedBytes {
 public:
  static constexpr int64_t kGuard = 64;  // bytes before and behind, at least
  static constexpr char kPattern = static_cast<char>(0xA5);

  // All of it is filled with the pattern.
  explicit GuardedBytes(int64_t size = 0);

  // It begins with a line of the cache, as a tensor does.
  char* data() { return lines_[1].bytes; }
  const char* data() const { return lines_[1].bytes; }
  int64_t size() const { return size_; }
  // The guards, too: its memory begins kGuard bytes behind the first.
  std::span<char> all() { return {lines_[0].bytes, lines_.size() * sizeof(Line)}; }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data());
  }

  // Throws Error, beginning with `what`, where something beside it was written to.
  void CheckGuards(const std::string& what) const;
  // Does so for memory of whole rows of `stride` bytes, of which the kernel may write `row`.
  void CheckGuards(const std::string& what, int64_t row, int64_t stride) const;

 private:
  struct alignas(kGuard) Line {
    char bytes[kGuard];
  };
  int64_t size_;
  std::vector<Line> lines_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_GUARDED_BYTES_H_
