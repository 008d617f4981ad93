#ifndef TESSERA_TRAIN_RUN_TRAINING_RUN_H_
#define TESSERA_TRAIN_RUN_TRAINING_RUN_H_
// The training loop: epochs of steps, an evaluation after each, checkpoints. Ranks run it together;
// each calls its own on_step and on_epoch, and all stop if one does.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/data_sets.h"
#include "train/pipeline/pipeline_kind.h"
#include "train/run/training_metrics.h"
#include "train/trainer.h"

namespace tessera {

// What managed collision did with the raw ids of one table. A row that went from one id to another
// was given twice.
struct RawIdsReport {
  std::string table, kind;
  int64_t rows = 0;      // of the table
  int64_t ids = 0;       // that have rows of their own now
  int64_t admitted = 0;  // rows given to ids in this run
  int64_t evicted = 0;   // rows taken from ids in this run for others
};

// What the tables that lie on disk, each with a cache of its own, have done since they were made:
// the loading of a checkpoint too.
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

// After each step.
struct StepReport {
  int64_t epoch = 0;     // from 1
  int64_t step = 0;      // from 1, over all epochs
  int64_t examples = 0;  // of this batch
  double loss = 0;
  double fraction = 0;  // about what share of the epoch is done
};

// After each epoch, with its evaluation.
struct EpochReport {
  int64_t epoch = 0;      // from 1
  int64_t rows = 0;       // trained in this run
  bool whole = true;      // whether these are all of the epoch, and not those since a resume
  double train_loss = 0;  // mean over the rows, each before it was learned
  double seconds = 0;     // reading, training, evaluation
  std::optional<MetricValues> evaluation;
  std::vector<RawIdsReport> raw_ids;  // of tables with managed collision
};

struct TrainingRunOptions {
  std::string checkpoint = {};   // written after each epoch, and when stopped; "": never
  int64_t checkpoint_every = 0;  // and after each so many steps; 0: not
  // `checkpoint` is a folder of incremental ones.
  std::optional<IncrementalOptions> incremental = {};
  // Where the trainer was loaded from: a chain in that folder goes on.
  std::optional<ChainPosition> resumed = {};
  // The folder of incremental ones of ranks that the trainer was loaded from: under the same plan
  // its chains go on.
  std::string resumed_of_ranks = {};
  // How steps of the next batches overlap with this one's; the same on all ranks. A run by
  // kSemiSync that goes on from a checkpoint equals one that saved it there and never stopped.
  PipelineKind pipeline = PipelineKind::kNone;
  TrainingMetricsOutput metrics = {};  // the same on all ranks, of which the first writes
  std::function<bool()> stop = [] { return false; };  // asked between steps
  std::function<void(const StepReport&)> on_step = [](const StepReport&) {};
  std::function<void(const EpochReport&)> on_epoch = [](const EpochReport&) {};
};

struct TrainingRunReport {
  std::vector<EpochReport> epochs;         // that ended in this run
  std::optional<MetricValues> evaluation;  // the last one
  std::vector<RawIdsReport> raw_ids;       // of tables with managed collision
  std::optional<DiskReport> disk;          // where a table lies on disk
  int64_t rows = 0;                        // trained in this run
  int64_t skipped_rows = 0;                // bad ones, left out
  double seconds = 0;           // reading, training, evaluations; not the writing of checkpoints
  double training_seconds = 0;  // reading and training
  bool stopped = false;
};

// Goes on from where the trainer stands until config().epochs are done, or `stop` says so. A
// trainer that has done them is only saved, and evaluated. Throws Error for data that cannot be
// read or have no row to train on.
TrainingRunReport RunTraining(Trainer& trainer, const DataSets& data,
                              const TrainingRunOptions& options = {});

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_TRAINING_RUN_H_
