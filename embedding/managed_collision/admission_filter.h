#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_ADMISSION_FILTER_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_ADMISSION_FILTER_H_
// Which of the distinct ids of a history may have rows, by how often each came: TorchRec's
// threshold filters. n ids, c_i occurrences of id i.
//
//   dynamic         c_i > skew · Σc / n
//   average         c_i > Σc / n
//   probabilistic   1 − (1 − p)^c_i > u_i,   u_i uniform in [0, 1): each occurrence has
//                   the chance p
#include <functional>
#include <span>
#include <vector>

#include "runtime/context.h"

namespace tessera {

// One answer an id.
using AdmissionFilter =
    std::function<std::vector<bool>(Context& ctx, std::span<const int64_t> counts)>;

AdmissionFilter DynamicThresholdFilter(double skew_multiplier = 10);
AdmissionFilter AverageThresholdFilter();
// u_i from one new sequence of ctx.random() a call. Throws Error for a p outside [0, 1].
AdmissionFilter ProbabilisticThresholdFilter(double per_id_probability = 0.01);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_ADMISSION_FILTER_H_
