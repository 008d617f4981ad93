#ifndef TESSERA_CLI_RUNS_RUN_FOLDER_H_
#define TESSERA_CLI_RUNS_RUN_FOLDER_H_
// The folder that `tessera train --run` keeps a run in:
//
//   run.json       {"tessera_run": 1, "saved": ["best", "last"], "starts": [...], "finished":
//                  {"epochs", "step", "stopped_early"}}: "saved" has a checkpoint's name once it
//                  is complete for the first time; each start's time, command, version, build,
//                  machine, data, place, rows and seconds, "stopped": {"epochs", "step"} where a
//                  signal stopped it, and "differs": [{"step", "keys"}] where it evaluated a step
//                  that a start before it had evaluated, to other numbers; "finished" once nothing
//                  is left to train; "failed" {"time", "command", "error"} where no start has come
//                  to its first step
//   config.json    the configuration as it was resolved, flags included
//   log.txt        what was printed, of all starts
//   metrics.jsonl  metrics of the training (train/run/training_metrics.h)
//   curve.jsonl    a line an evaluation, or without rows for evaluation a line an epoch
//   loss.json      {"since_line": [{"step", "rows", "loss_sum"}, …]}: the rows that were trained
//                  after the last line of curve.jsonl, and their loss, as of the last two saves;
//                  and the rows and epochs so far, and counts of data.split
//                  (cli/train/run_epochs.h)
//   result.json    the report of --json: rows, epochs, evaluations and counts of data.split of all
//                  starts, the rest of the last one
//   last.safetensors, best.safetensors    checkpoints; folders last and best with ranks, and last
//                                         with --incremental
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/json/json_object.h"
#include "train/config/train_config.h"

namespace tessera::cli {

inline constexpr char kRunDocument[] = "run.json", kRunConfig[] = "config.json",
                      kRunLog[] = "log.txt", kRunMetrics[] = "metrics.jsonl",
                      kRunCurve[] = "curve.jsonl", kRunLoss[] = "loss.json",
                      kRunResult[] = "result.json";
inline constexpr char kRunFailed[] = "failed", kRunError[] = "error";  // keys of run.json
inline constexpr char kRunRows[] = "rows";  // of loss.json and result.json: of the whole run
inline constexpr char kTrainLoss[] = "train_loss";

bool IsRunFolder(const std::string& folder);
// Throws Error for a folder that is no run's.
void CheckRunFolder(const std::string& folder);

// "last.safetensors", or "last" for a checkpoint that is a folder; `which`: "last" or "best".
std::string CheckpointName(const std::string& which, bool is_folder);

internal::Json NewRunDocument();
// Reads run.json; a new document where none is there. Throws Error for what is no such document, or
// where a part that this library reads is not what it should be.
internal::Json ReadRunDocument(const std::string& folder);
void WriteRunDocument(const std::string& folder, const internal::Json& document);

// Whether a start of the run has come to its first step, which writes config.json. Throws Error as
// ReadRunDocument.
bool HasBegun(const std::string& folder);
// A sentence about a folder that lacks run.json or config.json: it is lost, or no start of the run
// has come to its first step, with what the last one failed at, if that is known. "" where both are
// there. Throws Error as ReadRunDocument.
std::string MissingFileText(const std::string& folder);
// Whether such a run has failed, and is not about to begin.
bool HasFailed(const std::string& folder);

// Where a run that has nothing left to train stands.
struct RunFinish {
  int64_t epochs = 0;
  std::string stopped_early;  // "target", "patience" or ""
};
// nullopt for a run that is under way, or was cut off.
std::optional<RunFinish> FinishOf(const internal::Json& document);
// Whether the run has saved a checkpoint; `which`: "last" or "best".
bool HasSaved(const internal::Json& document, const std::string& which);
// Notes that it has. Returns false where that is noted already.
bool NoteSaved(internal::Json& document, const std::string& which);

// A line of curve.jsonl.
struct CurvePoint {
  int64_t epoch = 0, step = 0;
  std::optional<double> fraction = {};  // how much of the epoch is trained, where it is known
  std::string metric;  // by which evaluations are compared; kTrainLoss without rows for them
  internal::Json values = {};  // the line
  // The epochs that are trained, with the fraction of one under way.
  double epochs() const { return static_cast<double>(epoch - 1) + fraction.value_or(0); }
  // The value of a metric under its name in --eval-metric, or of kTrainLoss; NaN where there is
  // none.
  double Value(const std::string& metric) const;
};

// The keys under which both lines, or a line and an entry of a report, have numbers, but not the
// same ones: "auc", "tasks.like.auc".
std::vector<std::string> DifferingNumbers(const internal::Json& a, const internal::Json& b);

// The points of curve.jsonl up to a step, by rising step; of two lines of one step the later one
// counts, and a line that was cut off is left out: *cut_line becomes the number of the first one,
// from 1, and stays 0 for none. Empty where there is no file.
std::vector<CurvePoint> ReadCurve(const std::string& folder,
                                  std::optional<int64_t> last_step = std::nullopt,
                                  int64_t* cut_line = nullptr);

// Rewrites curve.jsonl and metrics.jsonl to what a training that stands at this step has to tell:
// without lines of later steps, and each step once, in metrics.jsonl once a phase. Of two lines the
// later one stays, and a line that was cut off is left out.
void KeepLinesUpTo(const std::string& folder, int64_t last_step);

// A run as it was kept.
struct KeptRun {
  std::string path;
  TrainConfig config;
  std::optional<RunFinish> finished;
  int64_t epochs_at_stop = 0;  // that were trained where a signal stopped it last
  int64_t rows = 0;            // of the whole run, as of its last save
  // Sums over starts that were not killed.
  int64_t timed_rows = 0;
  double seconds = 0, training_seconds = 0;
  // JSON of the last start: ranges and fingerprints of the data, and what else changes bits.
  std::string train_data = {}, eval_data = {}, pipeline = {}, wire_codecs = {};
  std::string sharding_group_size = {}, sync_interval = {};  // "null" without groups
  std::vector<CurvePoint> curve = {};
  int64_t cut_line = 0;  // the first line of curve.jsonl, from 1, that was cut off; 0: none
  // A sentence for each step that a start has evaluated to other numbers than a start before it.
  std::vector<std::string> repeats = {};
  std::string note = {};  // what speaks against its curve (curve_check.h); "": nothing

  // The value of a metric at a point. A task's metric has that name in every run that has the task:
  // the only task's is also that of the bare name, and the bare name is the first task's.
  double Value(const CurvePoint& point, const std::string& metric) const;
};
// Throws Error, naming the folder or file, for a folder that is no run's, and a damaged file.
KeptRun ReadKeptRun(const std::string& folder);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_RUNS_RUN_FOLDER_H_
