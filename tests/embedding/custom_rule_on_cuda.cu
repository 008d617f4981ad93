#include "embedding/custom_rule.cuh"
#include "tests/embedding/custom_rule_on_cuda.h"

namespace tessera::testing {

AnyRule SignRuleOnCuda(float lr) { return MakeCudaCustomRule(SignRule{lr}); }

}  // namespace tessera::testing
