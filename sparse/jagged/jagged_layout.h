#ifndef TESSERA_SPARSE_JAGGED_JAGGED_LAYOUT_H_
#define TESSERA_SPARSE_JAGGED_JAGGED_LAYOUT_H_
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

#include "runtime/base/host_device.h"
#include "runtime/tensor.h"

namespace tessera {

// Host and device code's view of a layout.
struct JaggedView {
  struct Run {
    int64_t row = 0;    // the first row of the cell
    int64_t count = 0;  // rows with a slot, at most L_k
    int64_t all = 0;    // rows with and without
  };

  const int64_t* offsets[Shape::kMaxRank];
  int64_t max_lengths[Shape::kMaxRank];
  int levels;

  TESSERA_HD int64_t slots() const { return max_lengths[levels - 1]; }
  TESSERA_HD Run run(int64_t cell) const {
    const int64_t node = levels == 1 ? cell : NodeOf(cell);
    if (node < 0) return {};
    const int64_t begin = offsets[levels - 1][node], end = offsets[levels - 1][node + 1];
    const int64_t all = end > begin ? end - begin : 0;
    return {begin, all < slots() ? all : slots(), all};
  }

 private:
  // The node of the last level that a cell is, or −1.
  TESSERA_HD int64_t NodeOf(int64_t cell) const {
    // The places of all levels are the digits of the cell, the bag's in front. They are taken one
    // by one, as a GPU would keep an array of them in memory.
    int64_t scale = 1;
    for (int l = 0; l + 1 < levels; ++l) scale *= max_lengths[l];
    int64_t node = cell / scale;
    for (int l = 0; l + 1 < levels; ++l) {
      scale /= max_lengths[l];
      const int64_t place = cell / scale % max_lengths[l];
      const int64_t begin = offsets[l][node], end = offsets[l][node + 1];
      if (place >= end - begin) return -1;
      node = begin + place;
    }
    return node;
  }
};

class JaggedLayout {
 public:
  using Run = JaggedView::Run;

  // offsets: one tensor a level, i32 or i64; rows: N. Never waits. Throws Error if a max length is
  // negative, a level's offsets fall, don't start at 0, or don't end at the nodes of the next level
  // (at N); on a device offsets are cut to these, unchecked.
  JaggedLayout(Context& ctx, std::span<const Tensor> offsets, std::span<const int64_t> max_lengths,
               int64_t rows);
  // One level.
  JaggedLayout(Context& ctx, const Tensor& offsets, int64_t max_length, int64_t rows);

  int64_t rows() const { return rows_; }
  int64_t cells() const { return cells_; }
  int64_t slots() const { return max_lengths_.back(); }  // of a cell
  int64_t batch_size() const { return offsets_.front().dim(0) - 1; }
  int levels() const { return static_cast<int>(offsets_.size()); }
  JaggedView view() const;
  // [B, L_1, …, L_k] + the extents of `values` after its first.
  Shape PaddedShape(const Tensor& values) const;
  // Throws Error unless `padded` has such a shape with the extents of a row as in `values`.
  void CheckPadded(const Tensor& padded, const Tensor& values) const;

  // The padded twin of values [N, …]: slots without a row hold `padding`.
  Tensor Pad(Context& ctx, const Tensor& values, double padding = 0) const;
  // Back: rows without a slot are 0.
  Tensor Unpad(Context& ctx, const Tensor& padded) const;

 private:
  std::vector<Tensor> offsets_;  // i64
  std::vector<int64_t> max_lengths_;
  int64_t rows_ = 0, cells_ = 0;
};

}  // namespace tessera
#endif  // TESSERA_SPARSE_JAGGED_JAGGED_LAYOUT_H_
