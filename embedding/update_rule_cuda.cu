// The executor for one rule: BUILD compiles this file for each rule (TESSERA_RULE).
#include "embedding/update_isa.h"
#include "embedding/update_rows.cuh"
#include "optim/adagrad.h"
#include "optim/adam.h"
#include "optim/rowwise_adagrad.h"
#include "optim/sgd.h"

namespace tessera::internal {

template void UpdateRowsOnCuda(Context&, const CudaRows&, const std::vector<TESSERA_RULE::Step>&);

}  // namespace tessera::internal
