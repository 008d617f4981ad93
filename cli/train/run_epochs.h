#ifndef TESSERA_CLI_TRAIN_RUN_EPOCHS_H_
#define TESSERA_CLI_TRAIN_RUN_EPOCHS_H_
// The epochs of a run over all of its starts, as result.json tells them: one that a start began and
// a later one ended has the rows, loss and seconds of both. Between starts loss.json keeps them:
//
//   "rows": N                               of the whole run, as of the last save
//   "epochs": [{"epoch", "rows", …}, …]     as in result.json, those that have ended
//   "under_way": [{"step", "epoch", "rows", "loss_sum", "seconds", "best"}, …]
//                                           the epoch that goes on, as of the last two saves of
//                                           the last checkpoint and of the best
//   "split": {…, "train_rows": N, …}        as in result.json, where the data are split
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/json/json_object.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run/stopwatch.h"
#include "train/run/training_report.h"

namespace tessera::cli {

class RunEpochs {
 public:
  // Takes up what the folder keeps of a run that stands at `from`: in loss.json, or, where that is
  // missing, in result.json. What is not there, or damaged, is left out, and so are counts of a
  // split of other data. Returns false if nothing is there.
  bool GoOn(const std::string& folder, const TrainingProgress& from, bool has_same_data);

  void OnStep(const StepReport& step);
  void OnEvaluation(const EvaluationReport& report);
  void OnEpoch(const EpochReport& epoch);
  // Takes what this start has counted of data.split, as reports have it.
  void OnSplit(const internal::Json& split);
  // A checkpoint of this step is about to be saved: the last, or the best.
  void OnSave(int64_t step, bool best);

  // Adds the keys of loss.json.
  void AddTo(internal::Json& document) const;
  // Makes "rows", "epochs", "evaluations" and the counts of "split" of a report those of the whole
  // run, of whose evaluations curve.jsonl has those that earlier starts have made.
  void AddTo(internal::Json& report, const std::string& folder) const;

 private:
  // An epoch under way, as of a step.
  struct UnderWay {
    int64_t step = 0, epoch = 0, rows = 0;
    double loss_sum = 0, seconds = 0;
    bool best = false;
  };
  static UnderWay FromJson(const internal::Json& json);
  void TakeUnderWay(const std::string& folder, const internal::Json& saved,
                    const TrainingProgress& from);
  double Seconds() const { return now_.seconds + watch_.seconds(); }
  int64_t Rows() const;  // of the whole run

  std::vector<internal::Json> ended_;
  UnderWay now_;     // .seconds: of starts before this one
  Stopwatch watch_;  // since the epoch, or this start, began
  std::vector<UnderWay> saved_;
  internal::Json split_ = internal::Json::object();  // with its counts by any start
  int64_t saved_rows_ = 0;  // Rows() as of the last save of the last checkpoint, else of the best
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_RUN_EPOCHS_H_
