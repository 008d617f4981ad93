#ifndef TESSERA_TESTS_CONFORMANCE_KINDS_H_
#define TESSERA_TESTS_CONFORMANCE_KINDS_H_
// The kinds of cases, one function and one file each.
#include "tests/conformance/case.h"

namespace tessera::conformance {

Answer RunKjt(Context& ctx, const Case& c);
Answer RunLookup(Context& ctx, const Case& c);
Answer RunTrain(Context& ctx, const Case& c);
Answer RunDense(Context& ctx, const Case& c);
Answer RunDenseOptim(Context& ctx, const Case& c);
Answer RunModel(Context& ctx, const Case& c);
Answer RunCheckpoint(Context& ctx, const Case& c);
Answer RunQuant(Context& ctx, const Case& c);
Answer RunPlan(Context& ctx, const Case& c);
Answer RunMetric(Context& ctx, const Case& c);
Answer RunSharding(Context& ctx, const Case& c);
Answer RunData(Context& ctx, const Case& c);

}  // namespace tessera::conformance
#endif  // TESSERA_TESTS_CONFORMANCE_KINDS_H_
