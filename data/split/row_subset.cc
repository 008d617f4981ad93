#include "data/split/row_subset.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/base/check.h"

namespace tessera {
namespace {

using internal::kWordBits;
constexpr size_t kWords = 8;  // of a block, a cache line

// Bits [begin, end) of a word; both may lie outside of it.
uint64_t Mask(int64_t begin, int64_t end) {
  begin = std::clamp<int64_t>(begin, 0, kWordBits);
  end = std::clamp<int64_t>(end, 0, kWordBits);
  const auto below = [](int64_t n) {
    return n == kWordBits ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
  };
  return below(end) & ~below(begin);
}

// The place of the n-th bit that is set, from 0. REQUIRES: it is there.
int64_t PlaceOfBit(uint64_t word, int64_t n) {
  for (; n > 0; --n) word &= word - 1;
  return std::countr_zero(word);
}

}  // namespace

RowSubset::RowSubset(std::shared_ptr<const RowTable> table, const RowBits& bits, bool wanted,
                     RowRange range)
    : table_(std::move(table)), bits_(bits) {
  const RowRange filled = FilledRange(range, table_->rows());
  TESSERA_CHECK_EQ(std::ssize(bits_), (table_->rows() + kWordBits - 1) / kWordBits,
                   "words of bits");
  int64_t count = 0;
  for (size_t w = 0; w < bits_.size(); ++w) {
    const int64_t first = static_cast<int64_t>(w) * kWordBits;
    bits_[w] = (wanted ? bits_[w] : ~bits_[w]) & Mask(filled.first - first, filled.last - first);
    if (w % kWords == 0) before_.push_back(count);
    count += std::popcount(bits_[w]);
  }
  before_.push_back(count);
}

int64_t RowSubset::NumberOf(int64_t row) const {
  const auto after = std::upper_bound(before_.begin(), before_.end() - 1, row);
  auto word = static_cast<size_t>(after - before_.begin() - 1) * kWords;
  int64_t left = row - *(after - 1);
  for (int64_t in = std::popcount(bits_[word]); left >= in; in = std::popcount(bits_[++word]))
    left -= in;
  return static_cast<int64_t>(word) * kWordBits + PlaceOfBit(bits_[word], left);
}

Batch RowSubset::Gather(Context& ctx, std::span<const int64_t> rows) const {
  std::vector<int64_t> numbers;
  numbers.reserve(rows.size());
  for (const int64_t row : rows) numbers.push_back(NumberOf(row));
  return table_->Gather(ctx, numbers);
}

}  // namespace tessera
