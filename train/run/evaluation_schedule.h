#ifndef TESSERA_TRAIN_RUN_EVALUATION_SCHEDULE_H_
#define TESSERA_TRAIN_RUN_EVALUATION_SCHEDULE_H_
// Decides when a training is evaluated, which evaluation is the best, and whether to stop early.
//
// Evaluations are due after every `every_steps` steps, or, of an epoch of N rows and steps of B,
// after every max(1, ⌊N·every/B⌋)·B rows (as MLPerf counts), and after each epoch. The nth fraction
// is the epoch's end where n·every is the whole, or a third of an interval or less is left.
// A value is better if it is finite and above, or below, the best so far. What it remembers is the
// text of a checkpoint (TrainingProgress::evaluation): a run that goes on from there decides as one
// that never stopped. All ranks decide alike, as they get the same values.
#include <optional>
#include <string>

#include "data/click_row_stream.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/train_config.h"
#include "train/evaluation_metric.h"
#include "train/run/evaluated_rows.h"
#include "train/run/training_report.h"

namespace tessera {

// The memory of a schedule.
struct EvaluationState {
  std::string metric = {};                  // that `best` is a value of
  std::optional<BestEvaluation> best = {};  // so far
  int64_t since_best = 0;                   // evaluations after the best one
  // The last evaluation that counted, and one that is to be made before the next step.
  std::optional<EvaluationPoint> last = {}, due = {};
  std::optional<EvaluatedRows> rows = {};  // that are evaluated; absent: unknown
  friend bool operator==(const EvaluationState&, const EvaluationState&) = default;
};
std::string ToText(const EvaluationState& state);
// The inverse; of "" a state that remembers nothing. Throws Error for other text.
EvaluationState EvaluationStateFromText(const std::string& text);

// Returns what a training by this configuration, evaluated on these rows, takes over of the text
// that a checkpoint keeps: if that is of another metric or of other rows, the best begins anew.
// Rows that are absent count as the same. REQUIRES: the configuration has "evaluation".
EvaluationState StateFor(const TrainConfig& config, const std::string& text,
                         const std::optional<EvaluatedRows>& rows);
// A sentence that says what of the text StateFor forgets, and why; "" if it forgets nothing.
std::string ForgottenText(const TrainConfig& config, const std::string& text,
                          const std::optional<EvaluatedRows>& rows);

// Whether a training whose checkpoint keeps this text of its evaluations has nothing left to train
// by the configuration's target or patience.
EarlyStop StopOf(const TrainConfig& config, const std::string& text,
                 const std::optional<EvaluatedRows>& rows = {});

// A sentence for people where the configuration's fraction of an epoch is less than one step, so
// that each step is evaluated; "" where it is not.
std::string ShortIntervalText(const TrainConfig& config, const std::optional<RowRange>& epoch_rows);

// A sentence for people where the configuration's number of steps never ends inside an epoch; ""
// where it does, and where nobody knows how many steps an epoch has.
std::string UnreachedIntervalText(const TrainConfig& config,
                                  const std::optional<RowRange>& epoch_rows);

// "every 500 steps and after each epoch", "every 0.05 of an epoch (39 steps) and after each epoch",
// "after each epoch". REQUIRES: a fraction comes with the epoch's rows.
std::string IntervalText(const TrainConfig& config, const std::optional<RowRange>& epoch_rows);

class EvaluationSchedule {
 public:
  // epoch_rows: of an epoch, with their end, where that is known before they are read. Throws Error
  // for a metric that the tasks do not have, a target that it cannot reach, and a fraction of an
  // epoch of unknown rows.
  EvaluationSchedule(const TrainConfig& config, const std::optional<RowRange>& epoch_rows);

  // Goes on from what `text` says, as StateFor.
  void GoOnFrom(const std::string& text, const std::optional<EvaluatedRows>& rows = {});
  std::string Text() const { return ToText(state_); }

  // The next step is the first after `at`.
  void Begin(const TrainingProgress& at) { row_ = at.row; }
  // A step has led to `at`, by which `fraction` of the epoch is trained, where somebody knows.
  void AfterStep(const TrainingProgress& at, std::optional<double> fraction);
  // The epoch's last step, and Trainer::EndEpoch, have led to `at`.
  void AfterEpoch(const TrainingProgress& at);

  // The evaluation that is due now.
  const std::optional<EvaluationPoint>& due() const { return state_.due; }
  // Takes the values of the evaluation that was due. Returns whether it is the best so far.
  bool Take(const EvaluationValues& values);

  const EvaluationMetric& metric() const { return metric_; }
  const EvaluationState& state() const { return state_; }
  EarlyStop stop() const;

 private:
  int64_t IntervalOf(int64_t row) const;
  bool IsEpochsEnd(int64_t row) const;

  EvaluationConfig config_;
  EvaluationMetric metric_;
  // Where an interval is a fraction of an epoch.
  RowRange epoch_rows_;
  int64_t step_rows_ = 0, interval_rows_ = 0;
  int64_t row_ = 0;  // before the next step
  EvaluationState state_;
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_EVALUATION_SCHEDULE_H_
