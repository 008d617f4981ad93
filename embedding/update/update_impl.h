#ifndef TESSERA_EMBEDDING_UPDATE_UPDATE_IMPL_H_
#define TESSERA_EMBEDDING_UPDATE_UPDATE_IMPL_H_
// The update on each device, and the search for a rule's executor.
#include "embedding/update/update.h"
#include "runtime/device/device.h"

namespace tessera::internal {

void Update(OnCpu, Context& ctx, const UpdateArgs& args);
RowGradients ComputeRowGradients(OnCpu, Context& ctx, const LookupArgs& lookup,
                                 const UpdateTable& table);
Tensor ComputeDenseGradient(OnCpu, Context& ctx, const LookupArgs& lookup,
                            const UpdateTable& table);

void Update(OnCuda, Context& ctx, const UpdateArgs& args);
RowGradients ComputeRowGradients(OnCuda, Context& ctx, const LookupArgs& lookup,
                                 const UpdateTable& table);
Tensor ComputeDenseGradient(OnCuda, Context& ctx, const LookupArgs& lookup,
                            const UpdateTable& table);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_UPDATE_IMPL_H_
