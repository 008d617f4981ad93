#ifndef TESSERA_CLI_SWEEP_SWEEP_PLAN_H_
#define TESSERA_CLI_SWEEP_SWEEP_PLAN_H_
// The plan of a sweep: a trial for each setting and seed, each with its configuration. The folder
// of a sweep:
//
//   sweep.json   {"tessera_sweep": 1, "asked": what the command said, "config": the first trial's
//                configuration, "trials": [{"name", "settings": {KEY: VALUE}, "seed"}, …],
//                with halving "rungs": [{"epochs", "trials": their numbers from 0}, …]}
//   config.json  the configuration that trials begin with, as it was when the sweep began
//   NAME         the folder of a trial's run (cli/runs/run_folder.h)
//   NAME.log     what the trial's processes printed
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/sweep/sweep_values.h"
#include "cli/train/flags/train_command_flags.h"
#include "runtime/json/json_object.h"
#include "train/config/train_config.h"

namespace tessera::cli {

inline constexpr char kSweepDocument[] = "sweep.json", kSweepConfig[] = "config.json";

struct Trial {
  std::string name;    // "03-lr=0.1-seed=2"
  size_t setting = 0;  // the number of its settings
  SweepSetting settings;
  std::optional<int64_t> seed;  // absent: the configuration's
  TrainConfig config;
};

struct SweepPlan {
  std::string config_text;  // of the file of --config
  std::vector<Trial> trials;
  std::optional<Halving> halving;
  internal::Json document;  // of sweep.json
};

// Reads the options of tessera train that follow `--`. Throws Error for those that a sweep gives
// itself, or that trials cannot share.
TrainFlags ParseTrainOptions(const std::vector<std::string>& words);

// Throws Error for a key or value that no configuration has, for two trials that are one training,
// and for flags that do not go together.
SweepPlan MakeSweepPlan(const SweepFlags& flags, const std::vector<std::string>& words,
                        TrainFlags train);

// Takes over the document of a sweep that the folder has. Throws Error, which says what differs,
// for another sweep than the plan's, and for a folder with other files and no sweep.
void GoOnWithSweep(const std::string& folder, SweepPlan& plan);
void WriteSweepDocument(const std::string& folder, const SweepPlan& plan);

// The words of a trial's process after the program's name, with the configuration at `config`.
std::vector<std::string> TrialWords(const Trial& trial, const std::vector<std::string>& words,
                                    const std::string& config, const std::string& run);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SWEEP_SWEEP_PLAN_H_
