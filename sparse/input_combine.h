#ifndef TESSERA_SPARSE_INPUT_COMBINE_H_
#define TESSERA_SPARSE_INPUT_COMBINE_H_
// Combines the inputs of several tables into the input of one call (FBGEMM's tbe_input_combine and
// its variants). FBGEMM's results are i32 always; ids here are i64 if those of any table are, and
// so are lengths. A call waits for a device only where it says so.
#include <vector>

#include "runtime/tensor.h"

namespace tessera {

// Ids [n] of one table; lengths or offsets of its bags, i32 or i64; weights f32 [n], or undefined.
struct TableInput {
  Tensor indices, bags, weights = {};
};

struct CombinedInput {
  Tensor indices;  // of all tables, one after another
  Tensor bags;     // lengths [Σ bags], or complete offsets [Σ bags + 1]
  Tensor weights;  // 1 where a table has none; undefined if no table has any
};

// Combines tables whose bags are given by lengths. batch_size above 0: each table's lengths are
// padded with 0 to so many. Throws Error for no table, sizes that do not fit, or more lengths than
// batch_size, and on a CPU for lengths that do not sum to n.
CombinedInput TbeInputCombineWithLength(Context& ctx, const std::vector<TableInput>& tables,
                                        int64_t batch_size = 0);

// Combines tables whose bags are given by offsets: complete ones where include_last_offsets[i],
// else without their end, which is n. Otherwise as above; bags of padding are empty. Ids after the
// last of complete offsets are padding and left out (FBGEMM moves them behind all ids); to find
// them, the call waits for the device.
CombinedInput TbeInputCombine(Context& ctx, const std::vector<TableInput>& tables,
                              const std::vector<bool>& include_last_offsets,
                              int64_t batch_size = 0);

}  // namespace tessera
#endif  // TESSERA_SPARSE_INPUT_COMBINE_H_
