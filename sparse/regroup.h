#ifndef TESSERA_SPARSE_REGROUP_H_
#define TESSERA_SPARSE_REGROUP_H_
// Rearranges column blocks of several matrices into several others: a plan, and the op that follows
// it.
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/autograd.h"

namespace tessera {

// Columns [in_start, in_start + length) of input `in` become [out_start, …) of output `out`.
struct ColumnMove {
  int64_t in, out, in_start, out_start, length;
};

struct RegroupPlan {
  std::vector<ColumnMove> moves;    // group by group
  std::vector<int64_t> in_widths;   // of each input
  std::vector<int64_t> out_widths;  // of each group
};

// The plan that joins, for each group, the blocks of its keys; input i has blocks keys[i] of widths
// lengths[i]. A key of several inputs is taken from the last. Throws Error naming a key that no
// input has.
RegroupPlan PlanRegroup(const std::vector<std::vector<std::string>>& keys,
                        const std::vector<std::vector<int64_t>>& lengths,
                        const std::vector<std::vector<std::string>>& groups);

// The arguments of FBGEMM's kernels: permutes i32 [P, 6] = (in, out, in_start, out_start, length,
// jump). jump is 0 for a block used once; else the first use holds the row of the next one, a
// middle one minus that, the last one −P.
struct RegroupArguments {
  Tensor permutes;               // i32 [P, 6]
  Tensor in_shapes, out_shapes;  // i32: widths
  std::vector<int64_t> out_lengths;
};
RegroupArguments KtRegroupArguments(Context& ctx, const std::vector<std::vector<std::string>>& keys,
                                    const std::vector<std::vector<int64_t>>& lengths,
                                    const std::vector<std::vector<std::string>>& groups);

// Outputs [B, out_widths[j]] from inputs [B, in_widths[i]]. In backward, an input column gets the
// sum over its moves, in their order, 0 if there is none: in f32, rounded once to the inputs'
// dtype. Throws Error for inputs of other shapes or different dtypes, and gradients of other dtypes
// than f32, f16 and bf16.
std::vector<Variable> Regroup(Context& ctx, const std::vector<Variable>& inputs,
                              const RegroupPlan& plan);

// Column blocks of one matrix [B, Σ], block p being columns offset_dim_list[p] …
// offset_dim_list[p+1]: block i of the output is block permute_list[i]. Blocks may repeat
// (gradients are summed) or be left out.
Variable PermutePooledEmbs(Context& ctx, const Variable& pooled_embs,
                           const std::vector<int64_t>& offset_dim_list,
                           const std::vector<int64_t>& permute_list);

}  // namespace tessera
#endif  // TESSERA_SPARSE_REGROUP_H_
