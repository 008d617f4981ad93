#ifndef TESSERA_TRAIN_DATA_SETS_H_
#define TESSERA_TRAIN_DATA_SETS_H_
// The rows of a run: what to train on and what to evaluate on, from the configuration and what the
// user chose beside it.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/config/train_config.h"
#include "train/data/click_row_stream.h"
#include "train/data/data_source.h"
#include "train/metrics/click_metrics.h"

namespace tessera {

// Given files are Criteo files, whatever the configuration says; without any, the data must be
// planted.
struct DataSelection {
  std::vector<std::string> files = {};
  std::vector<std::string> eval_files = {};  // empty: evaluation rows are of `files`
  std::optional<RowRange> train_rows = {};   // absent: all
  std::optional<RowRange> eval_rows = {};    // absent: all of eval_files, or none
  bool skip_bad_lines = false;
};

class DataSets {
 public:
  // Throws Error for a selection that has no rows to train on, or rows for evaluation that are not
  // told apart from these. Files are opened once, so that wrong names are errors now.
  DataSets(const TrainConfig& config, DataSelection selection);

  // Batches of the rows to train on that are not before `first_row`, read ahead.
  std::unique_ptr<DataSource> OpenTrain(int64_t first_row) const;
  // Null if there are no rows for evaluation.
  std::unique_ptr<DataSource> OpenEval() const;

  // What the true probabilities of planted data reach on the rows for evaluation: no model does
  // better, but by luck. Nullopt for other data.
  std::optional<MetricValues> Optimum() const;

 private:
  void CheckSelection() const;
  RowRange TrainRows() const;
  std::optional<RowRange> EvalRows() const;
  std::unique_ptr<DataSource> Open(const std::vector<std::string>& files, RowRange rows,
                                   int64_t batch_size) const;

  DataConfig data_;
  DataSelection selection_;
  BatchBuilder builder_;
  int64_t batch_size_;
  std::shared_ptr<const ClickModel> planted_;  // null for files
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_DATA_SETS_H_
