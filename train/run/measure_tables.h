#ifndef TESSERA_TRAIN_RUN_MEASURE_TABLES_H_
#define TESSERA_TRAIN_RUN_MEASURE_TABLES_H_
// Measures what tables did in a training run: rows of raw ids, and tables on disk.
#include <optional>
#include <vector>

#include "train/run/training_report.h"
#include "train/trainer.h"

namespace tessera {

// Counts rows given to and taken from raw ids since this was made. Every rank makes one and calls.
class RawIdsMeter {
 public:
  explicit RawIdsMeter(Trainer& trainer) : trainer_(trainer), start_(CountSync()) {}

  std::vector<RawIdsReport> ReportSync() const;

 private:
  // Counts of all ranks; evictions since the modules were made.
  std::vector<RawIdsReport> CountSync() const;
  void AddUpSync(std::vector<RawIdsReport>& counts) const;

  Trainer& trainer_;
  std::vector<RawIdsReport> start_;
};

// Absent if no table lies on disk. Every rank calls; sums of all ranks.
std::optional<DiskReport> DiskReportSync(Trainer& trainer);

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_MEASURE_TABLES_H_
