#ifndef TESSERA_CLI_TRAIN_LABEL_NOTES_H_
#define TESSERA_CLI_TRAIN_LABEL_NOTES_H_
// A training says these things of the labels of its rows before it begins.
#include "train/config/train_config.h"

namespace tessera::cli {

// Says which labels nothing learns where the model has no tasks.
void SayLabelsLeft(const TrainConfig& config);

// Warns of labels that are inputs, too. The label of another task may be known when a row is
// scored; a task's own gives the answer away.
void WarnOfLabelsAmongInputs(const TrainConfig& config);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_LABEL_NOTES_H_
