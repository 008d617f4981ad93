#ifndef TESSERA_BENCH_EMBEDDING_DISK_TRAINING_H_
#define TESSERA_BENCH_EMBEDDING_DISK_TRAINING_H_
// Trainings that the bench of tables on disk times: of one process, or of ranks that are threads,
// the table by rows over them.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/comm/rank_threads.h"
#include "embedding/cache/row_cache.h"
#include "embedding/storage/disk_stats.h"
#include "runtime/context.h"
#include "train/config/train_config.h"
#include "train/pipeline/trainer_pipeline.h"
#include "train/trainer.h"

namespace tessera::bench {

// Batches that steps go round: ids of a law (--skew), made-up numbers and labels. One table, which
// all features read.
class DiskBatches {
 public:
  DiskBatches(Context& ctx, const TrainConfig& config, const std::string& skew, int64_t count);
  const Batch& at(int64_t step) const {
    return batches_[static_cast<size_t>(step) % batches_.size()];
  }

 private:
  std::vector<Batch> batches_;
};

class DiskTraining {
 public:
  // threads: of all ranks together, at least one each.
  DiskTraining(int threads, int ranks, const TrainConfig& config,
               std::shared_ptr<const DiskBatches> batches, PipelineKind kind);
  ~DiskTraining();

  // The sum of the losses of the next steps.
  double Run(int64_t count);
  void ForgetTimes() { seconds_.clear(); }
  double MedianSeconds() const;
  int64_t done() const { return done_; }

  // These are sums over all ranks' parts of the table.
  CacheStats StatsSync();
  DiskStats disk_stats();
  int64_t lines();
  // Reads and writes each row once, so that all of them lie in the file.
  void WriteAllRows();

 private:
  class Rank;

  std::shared_ptr<const DiskBatches> batches_;
  std::optional<RankThreads> threads_;  // of several ranks
  std::vector<std::unique_ptr<Rank>> ranks_;
  int64_t done_ = 0;
  std::vector<double> seconds_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_DISK_TRAINING_H_
