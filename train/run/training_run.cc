#include "train/run/training_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <utility>

#include "comm/communicator.h"
#include "comm/leader.h"
#include "runtime/base/check.h"
#include "train/checkpoint/kept_checkpoints.h"
#include "train/pipeline/trainer_pipeline.h"
#include "train/run/evaluated_rows.h"
#include "train/run/evaluation_schedule.h"
#include "train/run/measure_ranks.h"
#include "train/run/measure_tables.h"
#include "train/run/row_counter.h"
#include "train/run/stopwatch.h"
#include "train/run/watched_rows.h"

namespace tessera {
namespace {

class TrainingRun {
 public:
  TrainingRun(Trainer& trainer, const DataSets& data, const TrainingRunOptions& options)
      : trainer_(trainer),
        data_(data),
        options_(options),
        pipeline_(trainer, options.pipeline),
        raw_ids_(trainer) {
    trainer.SetData(ToText(data.train_identity()));
    BeginEvaluations();
    if (trainer.comm() != nullptr) options_.stop = StopTogether(*trainer.comm(), options_.stop);
    if (options.metrics.any()) metrics_.emplace(trainer.context(), trainer, options.metrics);
    if (unwritten_ && metrics_->HasLineSync(*unwritten_)) unwritten_.reset();
    if (options.incremental && !options.checkpoint.empty()) OpenCheckpoints();
    if (!options.checkpoint.empty()) OpenKept();
    if (options.goes_on_there) saved_step_ = trainer.progress().step;
  }

  TrainingRunReport Run() {
    const bool at_end = IsAtEnd();
    if (at_end) SaveAsItIs();
    MakeUpEvaluation();
    if (at_end && !report_.stopped && !report_.evaluation)
      report_.evaluation = Evaluate(StopsEarly() ? *schedule_->state().last : EndOfEpoch());
    while (!report_.stopped && !IsAtEnd()) RunEpoch();
    trainer_.AverageGroups();
    report_.seconds = timer_.seconds();
    report_.raw_ids = raw_ids_.ReportSync();
    report_.disk = DiskReportSync(trainer_);
    MeasureSync(trainer_, timer_.exchange_seconds(), report_);
    ReportEvaluations();
    return std::move(report_);
  }

 private:
  void OpenCheckpoints() {
    trainer_.TrackChanges();
    const std::string& folder = options_.checkpoint;
    if (trainer_.comm() != nullptr) {
      of_ranks_.emplace(*trainer_.comm(), folder, *options_.incremental);
      if (GoesOnOfRanks()) of_ranks_->GoOn();
      return;
    }
    checkpoints_.emplace(folder, *options_.incremental);
    if (options_.resumed && HasItsRows() &&
        std::filesystem::equivalent(options_.resumed->folder, folder))
      checkpoints_->GoOnFrom(*options_.resumed);
  }

  void OpenKept() {
    TESSERA_CHECK(!options_.incremental || !options_.keep_last, "{}: keep_last beside incremental",
                  options_.checkpoint);
    if (options_.incremental || !(options_.keep_last || OverwritesOnAll())) return;
    kept_.emplace(options_.checkpoint, options_.keep_last,
                  options_.goes_on_there ? std::optional(trainer_.progress().step) : std::nullopt);
  }

  // The first rank decides: others may have looked at what is there after it began to write.
  bool OverwritesOnAll() const {
    if (trainer_.comm() == nullptr) return options_.overwrites;
    return InvokeOnRankAndBroadcastResult(*trainer_.comm(), 0, "overwriting checkpoints",
                                          [&] { return options_.overwrites; });
  }

  // Whether rows are where the checkpoint that was loaded has them; else a chain begins anew.
  bool HasItsRows() const { return trainer_.moved_ids().empty(); }

  bool GoesOnOfRanks() const {
    const std::string& from = options_.resumed_of_ranks;
    return !from.empty() && HasItsRows() &&
           std::filesystem::equivalent(from, options_.checkpoint) &&
           OpenRankChain(from).info().plan == trainer_.model().sharded()->tables().plan();
  }

  // Saves, unless a chain goes on, which already has this state.
  void SaveAsItIs() {
    const bool goes_on =
        (checkpoints_ && checkpoints_->position()) || (of_ranks_ && of_ranks_->position());
    if (!goes_on) Save();
  }

  void BeginEvaluations() {
    const TrainConfig& config = trainer_.config();
    CheckEvaluations(config, data_, options_);
    if (config.evaluation && data_.has_eval_rows()) {
      schedule_.emplace(config, epoch_rows_);
      schedule_->GoOnFrom(trainer_.progress().evaluation, EvaluatedRowsOf(data_));
    } else if (WritesEvaluations()) {
      unwritten_ = EvaluationStateFromText(trainer_.progress().evaluation).due;
    }
    trainer_.SetEvaluation("");
  }

  bool WritesEvaluations() const { return options_.metrics.any() && data_.has_eval_rows(); }
  bool StopsEarly() const { return schedule_ && schedule_->stop() != EarlyStop::kNone; }
  bool IsAtEnd() const {
    return trainer_.progress().epoch >= trainer_.config().epochs || StopsEarly();
  }
  // Where the last epoch that is done ended.
  EvaluationPoint EndOfEpoch() const {
    const TrainingProgress at = trainer_.progress();
    return {.epoch = at.epoch, .step = at.step, .fraction = 1};
  }

  // Makes the evaluation that was due where the run that this one goes on from was saved.
  void MakeUpEvaluation() {
    if (unwritten_) report_.evaluation = Evaluate(*unwritten_);
    if (!schedule_ || !schedule_->due()) return;
    EvaluateDue();
    if (!report_.stopped && StopsEarly()) Save();
  }

  void RunEpoch() {
    const double begin = timer_.seconds(), evaluating = evaluation_seconds_;
    EpochReport epoch{.epoch = trainer_.progress().epoch + 1};
    options_.on_epoch_begin(epoch.epoch);
    TrainRows(epoch);
    report_.rows += epoch.rows;
    report_.training_seconds += timer_.seconds() - begin - (evaluation_seconds_ - evaluating);
    if (report_.stopped || StopsEarly()) return Save();
    if (metrics_) metrics_->OnEpochEnd(epoch.epoch, trainer_.progress().step);
    trainer_.EndEpoch();
    if (schedule_) schedule_->AfterEpoch(trainer_.progress());
    if (!schedule_ && WritesEvaluations()) unwritten_ = EndOfEpoch();
    Save();  // before the evaluation: what was learned is safe whatever happens there
    EvaluateEpoch();
    if (report_.stopped) return;
    epoch.evaluation = report_.evaluation;
    epoch.best = LastIsOfThisStep() && evaluations_.back().best;
    epoch.seconds = timer_.seconds() - begin;
    epoch.raw_ids = raw_ids_.ReportSync();
    report_.epochs.push_back(epoch);
    options_.on_epoch(epoch);
    if (StopsEarly()) Save();
  }

  // The last step may have been evaluated, by this run or by the one that it goes on from.
  void EvaluateEpoch() {
    if (schedule_ && schedule_->due()) return EvaluateDue();
    if (LastIsOfThisStep()) return;
    if (const auto values = Evaluate(EndOfEpoch())) report_.evaluation = values;
  }
  bool LastIsOfThisStep() const {
    return !evaluations_.empty() && evaluations_.back().at.step == trainer_.progress().step;
  }

  int rank() const { return trainer_.comm() == nullptr ? 0 : trainer_.comm()->rank(); }
  int ranks() const { return trainer_.comm() == nullptr ? 1 : trainer_.comm()->size(); }

  // The rest of the epoch, for this rank.
  std::unique_ptr<DataSource> OpenTrain() const {
    const TrainingProgress at = trainer_.progress();
    return data_.OpenTrain(at.row, at.epoch, rank(), ranks());
  }

  void TrainRows(EpochReport& epoch) {
    epoch.whole = trainer_.progress().row == 0;
    std::unique_ptr<DataSource> source = OpenTrain();
    const TrainConfig& config = trainer_.config();
    if (!rows_seen_)
      source = WatchRows(std::move(source), config.model, TasksOf(config.model, config.data),
                         options_.on_warning);
    rows_seen_ = true;
    const double loss_sum = TrainOn(*source, epoch);
    if (epoch.rows > 0)
      epoch.train_loss = loss_sum / static_cast<double>(epoch.rows);
    else if (epoch.whole && !report_.stopped)
      throw Error("there are no rows to train on");
  }

  // Trains on the source; returns the sum of the rows' losses.
  double TrainOn(DataSource& source, EpochReport& epoch) {
    const auto steps = pipeline_.Over(source, metrics_.has_value());
    double loss_sum = 0;
    LeftOutLines left_out;
    if (schedule_) schedule_->Begin(trainer_.progress());
    while (!(report_.stopped = options_.stop())) {
      const std::optional<TrainedBatch> batch = steps->Next();
      if (!batch) {
        left_out = {source.skipped_rows(), source.skipped_by_reason()};
        break;
      }
      left_out = {batch->skipped_rows, batch->skipped_by_reason};
      epoch.rows += batch->rows;
      loss_sum += batch->loss * static_cast<double>(batch->rows);
      const TrainingProgress at = trainer_.progress();
      if (metrics_) metrics_->OnStep(batch->scored, epoch.epoch, at.step, batch->loss);
      // After a resume inside an epoch a source may know the rest of it alone.
      const std::optional<double> fraction =
          epoch_rows_ ? epoch_rows_->ShareBefore(at.row) : batch->fraction;
      options_.on_step({epoch.epoch, at.step, batch->rows, batch->loss, fraction});
      if (schedule_) schedule_->AfterStep(at, fraction);
      if (options_.checkpoint_every > 0 && at.step % options_.checkpoint_every == 0) {
        steps->Settle();
        Save();
      }
      if (!schedule_ || !schedule_->due()) continue;
      EvaluateDue();
      if (report_.stopped || StopsEarly()) break;
    }
    report_.skipped_rows += left_out.rows;
    for (const auto& [reason, count] : left_out.by_reason)
      report_.skipped_by_reason[reason] += count;
    return loss_sum;
  }

  // Says what is left of the training where an evaluation ends it.
  std::string SavedText() const {
    if (options_.checkpoint.empty()) return "nothing of the training was saved";
    if (saved_step_ < 0) return Format("{} was not saved", options_.checkpoint);
    return Format("{} has the training up to step {}", options_.checkpoint, saved_step_);
  }

  // Evaluates on the rows of a source. An error says what is saved.
  EvaluationValues ValuesOf(DataSource& source) {
    try {
      return trainer_.Evaluate(source, options_.stop,
                               metrics_ ? metrics_->BeginEvaluation() : nullptr);
    } catch (const CommunicatorAborted&) {
      throw;
    } catch (const Error& error) {
      throw Error(Format("evaluation: {}; {}", error.what(), SavedText()));
    }
  }

  // Warns once where no row counts. Throws Error where there is none, or a metric ends the run.
  void CheckAnyCounts(const EvaluationValues& values, int64_t rows) {
    if (std::ranges::any_of(values.tasks, [](const auto& t) { return t.values.weight > 0; }))
      return;
    if (rows == 0) throw Error(Format("{}; {}", NoRowsText(data_), SavedText()));
    const std::string none = NoneCountsText(rows, "for evaluation");
    const std::optional<EvaluationConfig>& by = trainer_.config().evaluation;
    if (by && (by->target || by->patience > 0))
      throw Error(
          Format("{}, so {} is not defined, by which a target (--stop-at) or patience (--patience) "
                 "would end the training; {}",
                 none, schedule_->metric().name, SavedText()));
    if (rank() == 0 && !std::exchange(said_none_counts_, true))
      options_.on_warning(none + "; no metric of them is defined");
  }

  // Absent without rows for evaluation, and where the run is stopped in it.
  std::optional<EvaluationValues> Evaluate(const EvaluationPoint& at) {
    const auto source = data_.OpenEval(rank());
    if (source == nullptr) return std::nullopt;
    const double begin = timer_.seconds();
    RowCounter counted(*source);
    const EvaluationValues values = ValuesOf(counted);
    evaluation_seconds_ += timer_.seconds() - begin;
    if ((report_.stopped = options_.stop())) return std::nullopt;
    CheckAnyCounts(values, counted.rows());
    report_.left_out_of_evaluation = {counted.skipped_rows(), counted.skipped_by_reason()};
    for (const NamedTaskValues& task : values.tasks)
      if (task.values.weight > 0 && std::isnan(task.values.loss(task.loss)))
        throw Error(
            Format("evaluation: the loss after step {} is nan: the training diverged; try smaller "
                   "learning rates; {}",
                   trainer_.progress().step, SavedText()));
    if (metrics_) metrics_->EndEvaluation(at, values.loss);
    unwritten_.reset();
    return values;
  }

  // Makes the evaluation that is due, which stays due if the run is stopped in it.
  void EvaluateDue() {
    const EvaluationPoint at = *schedule_->due();
    options_.on_evaluation_begin(at);
    const double before = evaluation_seconds_;
    const auto values = Evaluate(at);
    if (!values) return;
    const EvaluationMetric& metric = schedule_->metric();
    const bool best = schedule_->Take(*values);
    evaluations_.push_back({.at = at,
                            .values = *values,
                            .metric = metric.name,
                            .value = metric.ValueIn(*values),
                            .best = best,
                            .ends_epoch = trainer_.progress().row == 0,
                            .seconds = evaluation_seconds_ - before});
    report_.evaluation = values;
    options_.on_evaluation(evaluations_.back());
    if (best && !options_.best.empty()) SaveWhole(options_.best);
  }

  void ReportEvaluations() {
    KeepEvaluations();
    if (!schedule_) return;
    const EvaluationState& state = schedule_->state();
    report_.evaluations = {.all = std::move(evaluations_),
                           .metric = state.metric,
                           .best = state.best,
                           .since_best = state.since_best,
                           .stop = schedule_->stop()};
  }

  std::vector<NamedTensor> MetricsState() {
    return metrics_ ? metrics_->State() : std::vector<NamedTensor>();
  }

  void KeepEvaluations() {
    const std::string due = unwritten_ ? ToText(EvaluationState{.due = unwritten_}) : "";
    trainer_.SetEvaluation(schedule_ ? schedule_->Text() : due);
  }

  void SaveWhole(const std::string& path) {
    timer_.Hold([&] {
      KeepEvaluations();
      trainer_.Save(path, MetricsState());
      options_.on_saved(path);
    });
  }

  // Does what one process does for all ranks.
  template <typename Fn>
  void OnOne(Fn&& fn) {
    if (trainer_.comm() == nullptr) return fn();
    InvokeOnRankAndBroadcastResult(*trainer_.comm(), 0, "keeping earlier checkpoints", [&] {
      fn();
      return true;
    });
  }

  // Replaces the checkpoint.
  void SaveLast() {
    if (kept_) timer_.Hold([&] { OnOne([&] { kept_->BeforeSave(saved_step_); }); });
    SaveWhole(options_.checkpoint);
    if (kept_) timer_.Hold([&] { OnOne([&] { kept_->AfterSave(saved_step_); }); });
  }

  void Save() {
    if (options_.checkpoint.empty()) return;
    saved_step_ = trainer_.progress().step;
    options_.on_save(saved_step_);
    if (!checkpoints_ && !of_ranks_) return SaveLast();
    timer_.Hold([&] {
      KeepEvaluations();
      if (checkpoints_)
        trainer_.Save(*checkpoints_, MetricsState());
      else
        trainer_.Save(*of_ranks_, MetricsState());
      options_.on_saved(options_.checkpoint);
    });
  }

  Trainer& trainer_;
  const DataSets& data_;
  TrainingRunOptions options_;
  TrainerPipeline pipeline_;
  RawIdsMeter raw_ids_;
  const std::optional<RowRange> epoch_rows_ = data_.EpochRows();
  std::optional<EvaluationSchedule> schedule_;  // absent: only the ends of epochs are evaluated
  // Without a schedule: the evaluation that the metrics have no line of yet, which checkpoints call
  // due.
  std::optional<EvaluationPoint> unwritten_;
  std::vector<EvaluationReport> evaluations_;
  double evaluation_seconds_ = 0;
  int64_t saved_step_ = -1;  // of `checkpoint`; -1: it is not there
  bool rows_seen_ = false;   // in the first epoch of this run
  bool said_none_counts_ = false;
  std::optional<TrainingMetrics> metrics_;
  std::optional<IncrementalCheckpoints> checkpoints_;
  std::optional<RankCheckpoints> of_ranks_;
  std::optional<KeptCheckpoints> kept_;
  Stopwatch timer_;
  TrainingRunReport report_;
};

}  // namespace

TrainingRunReport RunTraining(Trainer& trainer, const DataSets& data,
                              const TrainingRunOptions& options) {
  return TrainingRun(trainer, data, options).Run();
}

}  // namespace tessera
