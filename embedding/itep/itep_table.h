#ifndef TESSERA_EMBEDDING_ITEP_ITEP_TABLE_H_
#define TESSERA_EMBEDDING_ITEP_ITEP_TABLE_H_
// For one table: which of its E rows each of its U > E ids has, and how much each id is used
// (FBGEMM's intraining_embedding_pruning.cu).
//
//   address [U]   row of each id. Rows 1 … E − 1 have one owner each; every other id has row 0
//   util    [U]   occurrences counted so far, decayed
//
// Pruning in forward n asks for util of the ids n mod 23 + 23·i, i < S = ⌊U / 23⌋ (of all if
// U < 23), which is sorted into s [S]; of the ids with util at most s[⌊(1 − E / U)·S⌋] those that
// own a row lose it, and the others that own none get these rows: both in the order of the ids, as
// far as they go. As in FBGEMM, E / U, 1 − E / U and its product with S are each rounded to f32:
// E = 9, U = 14, S = 14 gives s[4], where exact numbers would give s[5].
#include <cstdint>
#include <memory>
#include <vector>

#include "embedding/lookup/index_remap.h"
#include "runtime/tensor.h"

namespace tessera::internal {

class ItepTable {
 public:
  // Id i owns row i. REQUIRES: 0 < rows < ids.
  ItepTable(Context& ctx, int64_t ids, int64_t rows);

  int64_t ids() const { return static_cast<int64_t>(address_.size()); }
  int64_t rows() const { return rows_; }
  const std::vector<int64_t>& address() const { return address_; }
  const Tensor& util() const { return util_; }  // f32, on the device
  const IndexRemap& remap() const { return *remap_; }

  // util += occurrences in `ids` ([n], i32 or i64), those outside [0, U) not counted. Waits for a
  // device.
  void Count(Context& ctx, const Tensor& ids);
  // Prunes at forward `iter`, after multiplying util by `decay`. Returns the rows that went to
  // other ids, ascending. Waits for a device.
  std::vector<int64_t> Prune(Context& ctx, float decay, int64_t iter);

  // REQUIRES: `address` as it was once, util [U] f32.
  void Set(Context& ctx, std::vector<int64_t> address, const Tensor& util);

 private:
  float Threshold(const std::vector<float>& util, int64_t iter) const;

  int64_t rows_;
  std::vector<int64_t> address_;
  std::shared_ptr<const IndexRemap> remap_;  // the same, on the device
  Tensor util_;
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_ITEP_ITEP_TABLE_H_
