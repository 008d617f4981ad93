#ifndef TESSERA_SPARSE_REGROUP_IMPL_H_
#define TESSERA_SPARSE_REGROUP_IMPL_H_
// The devices' halves of regroup.h.
#include <vector>

#include "runtime/device/device.h"
#include "sparse/regroup.h"

namespace tessera::internal {

// inputs: matrices with contiguous rows; outputs: contiguous. All of one dtype and as many rows.
void MoveColumns(OnCpu, Context& ctx, const RegroupPlan& plan, const std::vector<Tensor>& inputs,
                 const std::vector<Tensor>& outputs);
void MoveColumns(OnCuda, Context& ctx, const RegroupPlan& plan, const std::vector<Tensor>& inputs,
                 const std::vector<Tensor>& outputs);
// The way back: sums [i] get grads [j], all contiguous f32 or undefined.
void AddColumns(OnCpu, Context& ctx, const RegroupPlan& plan, const std::vector<Tensor>& grads,
                const std::vector<Tensor>& sums);
void AddColumns(OnCuda, Context& ctx, const RegroupPlan& plan, const std::vector<Tensor>& grads,
                const std::vector<Tensor>& sums);

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_REGROUP_IMPL_H_
