#ifndef TESSERA_CLI_TRAIN_FLAGS_TRAIN_COMMAND_FLAGS_H_
#define TESSERA_CLI_TRAIN_FLAGS_TRAIN_COMMAND_FLAGS_H_
// The flags of `tessera train`.
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/outputs.h"
#include "cli/train/flags/evaluation_flags.h"
#include "train/checkpoint/incremental_checkpoints.h"
#include "train/config/train_config.h"
#include "train/data_sets.h"

namespace tessera::cli {

struct TrainFlags {
  std::string config, train_rows, eval_rows, checkpoint, resume, json, run;
  std::string device = "cpu", comm = "auto";
  std::string metrics, tensorboard;
  std::string plan, topology, save_plan, wire_codecs, route;
  std::optional<int> ranks_per_node;  // as mpirun says
  std::optional<int> sharding_group_size;
  std::optional<int64_t> sync_interval;
  std::string memory_limit;  // "": what there is
  std::string pipeline = "none", trace;
  std::vector<std::string> data, eval, set;
  EvaluationFlags evaluation;
  std::optional<int64_t> epochs, batch_size, accumulate_steps, seed, max_table_rows;
  std::optional<int> ranks;  // of this process
  std::optional<double> rank_timeout;
  int threads = 0;
  int stop_within = 300;  // seconds
  int64_t checkpoint_every = 0;
  std::optional<int64_t> keep_last;
  bool incremental = false;
  std::optional<int64_t> max_deltas, keep_chains;
  std::optional<double> max_delta_share;
  bool skip_bad_lines = false, other_data = false, overwrite = false;
  bool dry_run = false;
  std::string verify;
  std::optional<int64_t> verify_every;
};

void AddTrainFlags(Command app, TrainFlags& flags);

// The configuration with the flags that take precedence over it.
TrainConfig WithFlags(TrainConfig config, const TrainFlags& flags);

// Throws Error for flags that do not fit together, and files that could not be written.
// `with_ranks`: --ranks was given, or mpirun has started this.
void CheckTrainFlags(const TrainFlags& flags, bool with_ranks);

// Claims what the run writes; of ranks that are processes the first one does. Throws Error if that
// would lose a file, or another process writes it.
Outputs ClaimOutputs(const TrainFlags& flags, bool with_ranks);

// Claims --best, too, once what the run goes on from was read: the best model of a training may be
// replaced by that of a run which goes on from it.
void ClaimBest(const TrainFlags& flags, bool with_ranks, const std::optional<ResumedRun>& resumed,
               Outputs& outputs);

// Absent without --incremental.
std::optional<IncrementalOptions> IncrementalOf(const TrainFlags& flags);

DataSelection ParseSelection(const TrainFlags& flags);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_FLAGS_TRAIN_COMMAND_FLAGS_H_
