#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_FREQUENCY_SKETCH_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_FREQUENCY_SKETCH_H_
// Approximate counts of how often ids came lately, in a byte or so for each (count-min with
// conservative update, in lines of 64 counters as caches have them).
//
//   line       bits of the id's hash
//   counters   one in each quarter of the line; the id's count is at most their minimum
//
// Every 16th Add halves the next line, going round: a count stands for the last few multiples of
// bytes / 4 calls, and no call takes long.
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::internal {

class FrequencySketch {
 public:
  static constexpr int64_t kMaxCounted = 255;

  // Rounded up to a power of two, and to a line; 0: none.
  explicit FrequencySketch(int64_t bytes)
      : counters_(bytes > 0 ? static_cast<uint64_t>(RoundedBytes(bytes)) : 0) {}
  // REQUIRES: above 0.
  static int64_t RoundedBytes(int64_t bytes) {
    return static_cast<int64_t>(
        std::bit_ceil((static_cast<uint64_t>(bytes) + kLine - 1) & ~(kLine - 1)));
  }

  // One more of the id with this hash: how many that makes, or more. REQUIRES: there are counters.
  int64_t Add(uint64_t hash) {
    uint8_t* line = Line(hash >> 16);
    const uint64_t places = hash * 0x9e3779b97f4a7c15ull;
    uint8_t* own[4];
    uint8_t count = kMaxCounted;
    for (int i = 0; i < 4; ++i) {
      own[i] = line + 16 * i + (places >> (60 - 4 * i) & 15);
      count = *own[i] < count ? *own[i] : count;
    }
    if (count < kMaxCounted)
      for (uint8_t* counter : own) *counter += *counter == count;
    if (++adds_ % kAddsALine == 0) Halve(Line(adds_ / kAddsALine));
    return count < kMaxCounted ? count + 1 : count;
  }

  const std::vector<uint8_t>& counters() const { return counters_; }
  int64_t adds() const { return static_cast<int64_t>(adds_); }
  // REQUIRES: as many counters as there are.
  void Restore(std::vector<uint8_t> counters, int64_t adds) {
    counters_ = std::move(counters);
    adds_ = static_cast<uint64_t>(adds);
  }

 private:
  static constexpr uint64_t kLine = 64, kAddsALine = 16;
  uint8_t* Line(uint64_t number) {
    return counters_.data() + (number * kLine & (counters_.size() - 1));
  }
  static void Halve(uint8_t* line) {
    for (uint64_t i = 0; i < kLine; ++i) line[i] = static_cast<uint8_t>(line[i] / 2);
  }

  std::vector<uint8_t> counters_;
  uint64_t adds_ = 0;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_FREQUENCY_SKETCH_H_
