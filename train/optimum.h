#ifndef TESSERA_TRAIN_OPTIMUM_H_
#define TESSERA_TRAIN_OPTIMUM_H_
// The best that can be reached on planted data.
#include "train/data/click_model.h"
#include "train/data/click_row_stream.h"
#include "train/metrics/click_metrics.h"

namespace tessera {

// Metrics of the true probabilities on these rows. REQUIRES: the range has an end.
MetricValues OptimumOf(const ClickModel& model, const RowRange& rows);

}  // namespace tessera
#endif  // TESSERA_TRAIN_OPTIMUM_H_
