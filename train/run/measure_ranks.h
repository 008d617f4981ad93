#ifndef TESSERA_TRAIN_RUN_MEASURE_RANKS_H_
#define TESSERA_TRAIN_RUN_MEASURE_RANKS_H_
// Time and memory of the ranks that train, and their groups.
#include "train/run/training_report.h"
#include "train/trainer.h"

namespace tessera {

// Adds the memory at the end of a run to its report, and what all ranks measured, of which this one
// was held up by exchanges for so many of the report's seconds. Every rank calls.
void MeasureSync(const Trainer& trainer, double exchange_seconds, TrainingRunReport& report);

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_MEASURE_RANKS_H_
