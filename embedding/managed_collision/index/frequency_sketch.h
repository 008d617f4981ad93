#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_FREQUENCY_SKETCH_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_FREQUENCY_SKETCH_H_
// Approximate counts of how often ids came lately, in a byte or so for each (count-min with
// conservative update, in lines of 64 counters as caches have them).
//
//   line       bits of the id's hash
//   counters   one in each quarter of the line; the id's count is at most their minimum
//
// After a batch one line is halved for every A Adds, going round: a count stands for the last few
// multiples of A · bytes / 64 Adds. A is 16, or 8 · (admit_after − 2) rounded down to a power of
// two, so that an id among others comes admit_after times before its count fades, and what others
// add to it stays small beside admit_after. Within a batch lines know nothing of each other, so
// threads may count in different ones.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/base/host_device.h"

namespace tessera::internal {

// The lines of a sketch, wherever they lie.
struct SketchLines {
  static constexpr int64_t kMaxCounted = 255;
  static constexpr uint64_t kBytes = 64;  // of a line

  uint8_t* counters;
  uint64_t count;  // of lines, a power of two
  int adds_bits;   // of A

  // log2(A).
  static int AddsBits(int64_t admit_after) {
    const auto adds = static_cast<uint64_t>(std::max<int64_t>(16, 8 * (admit_after - 2)));
    return std::bit_width(adds) - 1;
  }

  TESSERA_HD uint64_t LineOf(uint64_t hash) const { return hash >> 16 & (count - 1); }
  // One more of the id with this hash: how many that makes, or more.
  TESSERA_HD int64_t Add(uint64_t hash) const {
    uint8_t* line = counters + LineOf(hash) * kBytes;
    const uint64_t places = hash * 0x9e3779b97f4a7c15ull;
    uint8_t* own[4];
    uint8_t least = kMaxCounted;
    for (int i = 0; i < 4; ++i) {
      own[i] = line + 16 * i + (places >> (60 - 4 * i) & 15);
      least = *own[i] < least ? *own[i] : least;
    }
    if (least == kMaxCounted) return least;
    for (uint8_t* counter : own) *counter += *counter == least;
    return least + 1;
  }

  // How many lines are to be halved, some perhaps repeatedly, when adds rose from `before`.
  TESSERA_HD uint64_t Due(uint64_t before, uint64_t adds) const {
    return (adds >> adds_bits) - (before >> adds_bits);
  }
  // Halves the t-th of them as often as its turn comes. REQUIRES: t is below Due and `count`.
  TESSERA_HD void Halve(uint64_t before, uint64_t adds, uint64_t t) const {
    uint8_t* line = counters + (((before >> adds_bits) + 1 + t) & (count - 1)) * kBytes;
    const uint64_t turns = (Due(before, adds) - t + count - 1) / count,
                   shift = turns < 8 ? turns : 8;
    for (uint64_t i = 0; i < kBytes; ++i) line[i] = static_cast<uint8_t>(line[i] >> shift);
  }
};

class FrequencySketch {
 public:
  // Rounded up to a power of two, and to a line; 0: none.
  FrequencySketch(int64_t bytes, int64_t admit_after)
      : counters_(bytes > 0 ? static_cast<uint64_t>(RoundedBytes(bytes)) : 0),
        adds_bits_(SketchLines::AddsBits(admit_after)) {}
  // REQUIRES: above 0.
  static int64_t RoundedBytes(int64_t bytes) {
    return static_cast<int64_t>(std::bit_ceil(
        (static_cast<uint64_t>(bytes) + SketchLines::kBytes - 1) & ~(SketchLines::kBytes - 1)));
  }

  // SketchLines::Add. REQUIRES: there are counters.
  int64_t Add(uint64_t hash) {
    ++adds_;
    return lines().Add(hash);
  }
  // Ends a batch: halves as many lines as its Adds make due.
  void Fade() {
    const uint64_t due = std::min(lines().Due(faded_, adds_), lines().count);
    for (uint64_t t = 0; t < due; ++t) lines().Halve(faded_, adds_, t);
    faded_ = adds_;
  }

  const std::vector<uint8_t>& counters() const { return counters_; }
  int64_t adds() const { return static_cast<int64_t>(adds_); }
  // REQUIRES: as many counters as there are.
  void Restore(std::vector<uint8_t> counters, int64_t adds) {
    counters_ = std::move(counters);
    adds_ = faded_ = static_cast<uint64_t>(adds);
  }

 private:
  SketchLines lines() {
    return {counters_.data(), counters_.size() / SketchLines::kBytes, adds_bits_};
  }

  std::vector<uint8_t> counters_;
  int adds_bits_;
  uint64_t adds_ = 0, faded_ = 0;  // Adds, and those that Fade has met
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_INDEX_FREQUENCY_SKETCH_H_
