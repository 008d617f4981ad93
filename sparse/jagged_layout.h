#ifndef TESSERA_SPARSE_JAGGED_LAYOUT_H_
#define TESSERA_SPARSE_JAGGED_LAYOUT_H_
// The places where a jagged tensor [N, …] and its padded twin [B, L_1, …, L_k, …] agree, for k
// levels of offsets.
//
// Level l gives node n of the level above the children offsets_l[n] … offsets_l[n+1]; the children
// of the last level are the rows. A cell is a point of [B, L_1, …, L_{k-1}]; it has L_k slots, and
// the first of them hold a run of rows. Rows beyond L_l of their bag lie in no cell. With one
// level, cell b is bag b.
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/tensor.h"

namespace tessera {

class JaggedLayout {
 public:
  struct Run {
    int64_t row = 0;    // the first row of the cell
    int64_t count = 0;  // rows with a slot, at most L_k
    int64_t all = 0;    // rows with and without
  };

  // offsets: one tensor a level, i32 or i64; rows: N. Throws Error if a level's offsets fall, don't
  // start at 0, don't end at the nodes of the next level (at N), or a max length is negative.
  JaggedLayout(std::span<const Tensor> offsets, std::span<const int64_t> max_lengths, int64_t rows);
  // One level.
  JaggedLayout(const Tensor& offsets, int64_t max_length, int64_t rows);

  int64_t rows() const { return rows_; }
  int64_t cells() const { return cells_; }
  int64_t slots() const { return max_lengths_.back(); }  // of a cell
  int64_t batch_size() const { return static_cast<int64_t>(offsets_.front().size()) - 1; }
  Run run(int64_t cell) const;
  // [B, L_1, …, L_k] + the extents of `values` after its first.
  Shape PaddedShape(const Tensor& values) const;
  // Throws Error unless `padded` has such a shape with the extents of a row as in `values`.
  void CheckPadded(const Tensor& padded, const Tensor& values) const;

  // The padded twin of values [N, …]: slots without a row hold `padding`.
  Tensor Pad(Context& ctx, const Tensor& values, double padding = 0) const;
  // Back: rows without a slot are 0.
  Tensor Unpad(Context& ctx, const Tensor& padded) const;

 private:
  void Check();
  std::vector<std::vector<int64_t>> offsets_;
  std::vector<int64_t> max_lengths_;
  int64_t rows_ = 0, cells_ = 0;
};

}  // namespace tessera
#endif  // TESSERA_SPARSE_JAGGED_LAYOUT_H_
