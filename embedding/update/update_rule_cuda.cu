// The executor for one rule: BUILD compiles this file for each rule (TESSERA_RULE in
// TESSERA_RULE_FILE).
#include "embedding/update/rule_file.h"
#include "embedding/update/update_rows.cuh"
#include "runtime/context.h"

namespace tessera::internal {

template void UpdateRowsOnCuda(Context&, const CudaRows&, const std::vector<TESSERA_RULE::Step>&,
                               const StepsAt<TESSERA_RULE::Step>&);

}  // namespace tessera::internal
