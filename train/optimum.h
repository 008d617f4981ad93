#ifndef TESSERA_TRAIN_OPTIMUM_H_
#define TESSERA_TRAIN_OPTIMUM_H_
// The best that can be reached on planted data.
#include "data/click_row_stream.h"
#include "data/synthetic/click_model.h"
#include "metrics/click_metrics.h"

namespace tessera {

// Metrics of the true probabilities on these rows. REQUIRES: the range has an end.
MetricValues ComputeOptimum(const ClickModel& model, const RowRange& rows);

}  // namespace tessera
#endif  // TESSERA_TRAIN_OPTIMUM_H_
