#ifndef TESSERA_TRAIN_RUN_TRAINING_REPORT_H_
#define TESSERA_TRAIN_RUN_TRAINING_REPORT_H_
// Reports of a training run, after each step, after each epoch and in the end. Plain data.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/data_source.h"
#include "runtime/base/process_memory.h"
#include "train/task_meter.h"

namespace tessera {

// Figures of managed collision for the raw ids of one table. A row that went from one id to another
// was given twice.
struct RawIdsReport {
  std::string table, kind;
  int64_t rows = 0;      // of the table
  int64_t ids = 0;       // that have rows of their own now
  int64_t admitted = 0;  // rows given to ids in this run
  int64_t evicted = 0;   // rows taken from ids in this run for others
};

// Figures of the tables on disk, each with a cache of its own, since they were made, the loading of
// a checkpoint included.
struct DiskReport {
  int64_t tables = 0;
  int64_t file_bytes = 0;   // room taken on disk
  int64_t cache_bytes = 0;  // of the caches' lines
  // Distinct rows of the batches, and how many of them lay in a cache.
  int64_t rows = 0, hits = 0;
  int64_t bytes_read = 0, bytes_written = 0;
  double reads_in_flight = 0;  // on the average, beside each read that began
  std::string io;              // "uring", "threads"
  bool direct = false;         // past the page cache
  double hit_rate() const {
    return rows > 0 ? static_cast<double>(hits) / static_cast<double>(rows) : 0;
  }
};

// Where a training stands when it is evaluated.
struct EvaluationPoint {
  int64_t epoch = 0;  // from 1
  int64_t step = 0;   // from 1, over all epochs
  // How much of the epoch is trained, 1 at its end; of text without a range of rows about, by the
  // bytes that its rows take. Absent inside an epoch of a pipe, whose end nobody knows.
  std::optional<double> fraction = {};
  friend bool operator==(const EvaluationPoint&, const EvaluationPoint&) = default;
};

// After each evaluation of a run that has "evaluation" in its configuration.
struct EvaluationReport {
  EvaluationPoint at;
  EvaluationValues values;
  std::string metric;  // by which evaluations are compared
  double value = 0;    // of the metric
  bool best = false;   // so far
  bool ends_epoch = false;
  double seconds = 0;
};

struct BestEvaluation {
  EvaluationPoint at;
  double value = 0;  // of the metric
  friend bool operator==(const BestEvaluation&, const BestEvaluation&) = default;
};

// Why a training stopped before its last epoch's end.
enum class EarlyStop { kNone, kTarget, kPatience };

// The evaluations of a run, beside those that it goes on from.
struct EvaluationsReport {
  std::vector<EvaluationReport> all;   // of this run
  std::string metric;                  // by which they are compared
  std::optional<BestEvaluation> best;  // of the whole training; absent: none had a finite value
  int64_t since_best = 0;              // evaluations after the best one
  EarlyStop stop = EarlyStop::kNone;
};

// After each step.
struct StepReport {
  int64_t epoch = 0;     // from 1
  int64_t step = 0;      // from 1, over all epochs
  int64_t examples = 0;  // of this batch
  double loss = 0;
  std::optional<double> fraction = {};  // about what share of the epoch is done, where it is known
};

// After each epoch, with its evaluation.
struct EpochReport {
  int64_t epoch = 0;      // from 1
  int64_t rows = 0;       // trained in this run
  bool whole = true;      // whether these are all of the epoch, and not those since a resume
  double train_loss = 0;  // mean over the rows, each before it was learned
  double seconds = 0;     // reading, training, evaluation
  std::optional<EvaluationValues> evaluation = {};
  bool best = false;                       // the evaluation is the best so far
  std::vector<RawIdsReport> raw_ids = {};  // of tables with managed collision
};

// The time and memory of one rank in a run.
struct RankReport {
  double seconds = 0;           // reading, training, evaluations
  double exchange_seconds = 0;  // of these, held up by exchanges (comm/exchange_time.h)
  ProcessMemory memory;         // at the end; ranks that are threads share it
};

// Sharding groups of a run (train/ranks.h).
struct GroupsReport {
  int groups = 1, ranks_of_each = 1;
  int64_t sync_interval = 1;  // steps
  int64_t averages = 0;       // how often their tables became their mean in this run
};

// Bad lines of the data, which --skip-bad-lines leaves out.
struct LeftOutLines {
  int64_t rows = 0;
  BadLineCounts by_reason;  // where the data tell
};

struct TrainingRunReport {
  std::vector<EpochReport> epochs;             // that ended in this run
  std::optional<EvaluationValues> evaluation;  // the last one
  std::optional<EvaluationsReport> evaluations;
  std::vector<RawIdsReport> raw_ids;    // of tables with managed collision
  std::optional<DiskReport> disk;       // where a table lies on disk
  ProcessMemory memory;                 // at the end; with ranks the largest figures
  std::vector<RankReport> ranks;        // by rank; none without ranks
  std::optional<GroupsReport> groups;   // of several
  int64_t rows = 0;                     // trained in this run
  int64_t skipped_rows = 0;             // bad ones, left out among them
  BadLineCounts skipped_by_reason;      // where the data tell
  LeftOutLines left_out_of_evaluation;  // of the last evaluation
  double seconds = 0;           // reading, training, evaluations; not the writing of checkpoints
  double training_seconds = 0;  // reading and training
  bool stopped = false;         // by `stop`
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_TRAINING_REPORT_H_
