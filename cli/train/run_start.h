#ifndef TESSERA_CLI_TRAIN_RUN_START_H_
#define TESSERA_CLI_TRAIN_RUN_START_H_
// A start of a run as run.json has it: its command, its machine and its data.
#include <string>

#include "runtime/json/json_object.h"
#include "train/data_sets.h"
#include "train/run/training_run.h"

namespace tessera::cli {

// Facts of a start that its flags do not say.
struct RunStart {
  std::string machine, device, pipeline, wire_codecs;
  int threads = 1, ranks = 1, groups = 1;
  int64_t sync_interval = 1;
  TrainingProgress from;
};

// The command of this process, in words that a shell takes apart again.
std::string CommandText();

// The ranges and the fingerprints of the data.
internal::Json DataJson(const DataSets& data);
internal::Json StartJson(const DataSets& data, const RunStart& start);

// The rows and files of one side, "train" or "eval", of such data, by what is in them.
internal::Json ContentOf(const internal::Json& data, const char* side);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_RUN_START_H_
