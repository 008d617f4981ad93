#include "sparse/ids/bottom_k.h"

#include <set>

#include "sparse/ops/segments.h"

namespace tessera {
namespace {

void AppendDistinct(std::span<const int64_t> row, int64_t number, int64_t k,
                    std::vector<int64_t>& out) {
  std::set<int64_t> distinct;
  for (const int64_t x : row) {
    if (std::ssize(distinct) == k) break;
    distinct.insert(x);
  }
  TESSERA_CHECK(std::ssize(distinct) == k,
                "BottomKPerRow: row {} has {} distinct numbers, but {} are asked for: draw more of "
                "them, or less skewed ones",
                number, distinct.size(), k);
  out.insert(out.end(), distinct.begin(), distinct.end());
}

}  // namespace

Tensor BottomKPerRow(Context& ctx, const Tensor& input, const Tensor& k_offsets, bool unique) {
  TESSERA_CHECK(input.rank() >= 1 && input.dtype() == DType::kI64,
                "BottomKPerRow: input {} of {}; expected rows of i64", input.shape(),
                input.dtype());
  const std::vector<int64_t> offsets = ToInt64(k_offsets);
  const Tensor host = input.Contiguous(ctx).ToHost();
  const int64_t columns = input.dim(-1), rows = columns == 0 ? 0 : input.numel() / columns;
  const bool fixed = offsets.size() == 2;
  TESSERA_CHECK(fixed || std::ssize(offsets) == rows + 1,
                "BottomKPerRow: {} offsets; expected 2, or {} for {} rows", offsets.size(),
                rows + 1, rows);
  std::vector<int64_t> out;
  for (int64_t r = 0; r < rows; ++r) {
    const size_t at = fixed ? 0 : static_cast<size_t>(r);
    int64_t k = 0;
    if (__builtin_sub_overflow(offsets[at + 1], offsets[at], &k) || k < 0 || k > columns)
      throw Error(Format(
          "BottomKPerRow: k_offsets go from {} to {} at row {}; expected 0 to {} more, which "
          "are the numbers of a row",
          offsets[at], offsets[at + 1], r, columns));
    const std::span<const int64_t> row = host.span<int64_t>().subspan(
        static_cast<size_t>(r * columns), static_cast<size_t>(columns));
    if (unique)
      AppendDistinct(row, r, k, out);
    else
      out.insert(out.end(), row.begin(), row.begin() + k);
  }
  return Tensor::From(ctx, out);
}

}  // namespace tessera
