#include "metrics/state/score_ties.h"

#include <array>
#include <bit>
#include <cstdint>

namespace tessera::internal {
namespace {

// With at least so many examples, sorting by digits is faster than by comparisons.
constexpr size_t kManyExamples = 512;
constexpr int kDigitBits = 11, kKeyBits = 32;
constexpr size_t kDigits = size_t{1} << kDigitBits;

// Rises as the prediction falls; the same for 0 and −0.
uint32_t KeyOf(float prediction) {
  const auto bits = std::bit_cast<uint32_t>(prediction + 0.0f);
  return bits >> 31 ? bits : ~bits & 0x7fffffffu;
}

// Moves all to `to` by one digit of their keys, equal ones in their order.
void SortByDigit(const std::vector<ClassWeights>& from, int shift, std::vector<ClassWeights>& to) {
  const auto digit = [&](const ClassWeights& e) {
    return KeyOf(e.prediction) >> shift & (kDigits - 1);
  };
  std::array<size_t, kDigits + 1> begin = {};
  for (const ClassWeights& e : from) ++begin[digit(e) + 1];
  for (size_t d = 0; d < kDigits; ++d) begin[d + 1] += begin[d];
  for (const ClassWeights& e : from) to[begin[digit(e)]++] = e;
}

void Sort(std::vector<ClassWeights>& scored) {
  if (scored.size() < kManyExamples) {
    std::stable_sort(
        scored.begin(), scored.end(),
        [](const ClassWeights& a, const ClassWeights& b) { return a.prediction > b.prediction; });
    return;
  }
  std::vector<ClassWeights> other(scored.size());
  for (int shift = 0; shift < kKeyBits; shift += kDigitBits) {
    SortByDigit(scored, shift, other);
    scored.swap(other);
  }
}

}  // namespace

std::vector<ClassWeights> ByFallingPrediction(const ScoredExamples& examples) {
  CheckSizes(examples);
  std::vector<ClassWeights> scored(examples.size());
  for (size_t i = 0; i < scored.size(); ++i) {
    const float p = examples.predictions[i], y = examples.labels[i], w = examples.weight(i);
    if (std::isnan(p)) return {};
    scored[i] = {p, w * y, w * (1 - y)};
  }
  Sort(scored);
  return scored;
}

}  // namespace tessera::internal
