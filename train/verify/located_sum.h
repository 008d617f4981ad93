#ifndef TESSERA_TRAIN_VERIFY_LOCATED_SUM_H_
#define TESSERA_TRAIN_VERIFY_LOCATED_SUM_H_
// A digest of many items that says where two sets of items differ, if they do in one place: with
// h the hash of an item and p its place, the sums Σ h, Σ h·p and Σ h·p² of two sets differ by d,
// d·p and d·p² if one item alone does, which gives p. Numbers are of the field of 2^61 − 1
// elements, in which every difference but 0 can be divided by.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace tessera {

class LocatedSum {
 public:
  // Adds an item; the order of items does not count, and one may come several times.
  // REQUIRES: place < 2^61 − 2.
  void Add(uint64_t place, uint64_t hash) {
    const uint64_t p = place + 1;
    uint64_t term = Reduced(hash);
    for (uint64_t& sum : sums_) {
      sum = Reduced(sum + term);
      term = Product(term, p);
    }
  }

  // Adds `count` items whose places follow one another from `place` on: hash(i) is that of item i.
  // Places within a run are small, so that a run's sums are reduced once instead of once an item.
  template <typename Hash>
  void AddConsecutive(uint64_t place, int64_t count, Hash&& hash) {
    for (int64_t begin = 0; begin < count; begin += kRun) {
      const int64_t items = std::min(kRun, count - begin);
      unsigned __int128 h = 0, hp = 0, hpp = 0;
      for (int64_t i = 0; i < items; ++i) {
        const auto p = static_cast<uint64_t>(i + 1);
        const unsigned __int128 term = Reduced(hash(begin + i));
        h += term;
        hp += term * p;
        hpp += term * (p * p);
      }
      AddAll(From({ElementOf(h), ElementOf(hp), ElementOf(hpp)})
                 .Shifted(place + static_cast<uint64_t>(begin)));
    }
  }

  // Adds all items of another sum.
  void AddAll(const LocatedSum& other) {
    for (size_t i = 0; i < 3; ++i) sums_[i] = Reduced(sums_[i] + other.sums_[i]);
  }

  // The sum of the same items, each `places` further on.
  LocatedSum Shifted(uint64_t places) const {
    const auto& [h, hp, hpp] = sums_;
    const uint64_t by_h = Product(h, places), by_hp = Product(hp, places);
    LocatedSum sum;
    sum.sums_ = {h, Reduced(hp + by_h),
                 Reduced(Reduced(hpp + by_hp) + Reduced(by_hp + Product(by_h, places)))};
    return sum;
  }

  bool operator==(const LocatedSum&) const = default;

  // The place of the only item in which this and `other` differ; absent where several do.
  // REQUIRES: they differ.
  std::optional<uint64_t> PlaceOfDifference(const LocatedSum& other) const {
    std::array<uint64_t, 3> d;
    for (size_t i = 0; i < 3; ++i) d[i] = Reduced(sums_[i] + kPrime - other.sums_[i]);
    if (d[0] == 0) return std::nullopt;
    const uint64_t p = Product(d[1], Inverse(d[0]));
    if (p == 0 || Product(p, d[1]) != d[2]) return std::nullopt;
    return p - 1;
  }

  const std::array<uint64_t, 3>& sums() const { return sums_; }
  // REQUIRES: sums of a LocatedSum.
  static LocatedSum From(const std::array<uint64_t, 3>& sums) {
    LocatedSum sum;
    sum.sums_ = sums;
    return sum;
  }
  static bool IsElement(uint64_t x) { return x < kPrime; }
  // The element of the field that is x modulo 2^61 − 1.
  static uint64_t ElementOf(unsigned __int128 x) {
    const auto high = static_cast<uint64_t>(x >> 61);
    return Reduced(Reduced(static_cast<uint64_t>(x) & kPrime) + Reduced(high));
  }

 private:
  static constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
  static constexpr int64_t kRun = 1024;  // Σ h·p² of so many is below 2^(61 + 20 + 10)

  static uint64_t Reduced(uint64_t x) {
    const uint64_t folded = (x & kPrime) + (x >> 61);
    return folded >= kPrime ? folded - kPrime : folded;
  }
  static uint64_t Product(uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    const auto low = static_cast<uint64_t>(product) & kPrime;
    return Reduced(low + static_cast<uint64_t>(product >> 61));
  }
  // a^(kPrime − 2), which times a is 1.
  static uint64_t Inverse(uint64_t a) {
    uint64_t power = 1;
    for (uint64_t n = kPrime - 2; n > 0; n >>= 1) {
      if ((n & 1) != 0) power = Product(power, a);
      a = Product(a, a);
    }
    return power;
  }

  std::array<uint64_t, 3> sums_ = {};
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_VERIFY_LOCATED_SUM_H_
