#include "train/run/training_run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "train/pipeline/trainer_pipeline.h"
#include "train/run/measure_tables.h"

namespace tessera {
namespace {

// A stopwatch that can be stopped for a while.
class Timer {
 public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin_ - held_).count();
  }
  // Runs `fn` without counting its time.
  template <typename Fn>
  void Hold(Fn&& fn) {
    const auto from = Clock::now();
    fn();
    held_ += Clock::now() - from;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
  Clock::duration held_ = {};
};

class TrainingRun {
 public:
  TrainingRun(Trainer& trainer, const DataSets& data, const TrainingRunOptions& options)
      : trainer_(trainer),
        data_(data),
        options_(options),
        pipeline_(trainer, options.pipeline),
        raw_ids_(trainer) {
    trainer.SetData(ToText(data.train_identity()));
    if (trainer.comm() != nullptr) options_.stop = StopTogether(*trainer.comm(), options_.stop);
    if (options.metrics.any()) metrics_.emplace(trainer.context(), trainer, options.metrics);
    if (options.incremental && !options.checkpoint.empty()) OpenCheckpoints();
  }

  TrainingRunReport Run() {
    const int64_t epochs = trainer_.config().epochs;
    if (trainer_.progress().epoch >= epochs) {
      SaveAsItIs();
      report_.evaluation = Evaluate();
    }
    while (!report_.stopped && trainer_.progress().epoch < epochs) RunEpoch();
    report_.seconds = timer_.seconds();
    report_.raw_ids = raw_ids_.ReportSync();
    report_.disk = DiskReportSync(trainer_);
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
    if (options_.resumed && std::filesystem::equivalent(options_.resumed->folder, folder))
      checkpoints_->GoOnFrom(*options_.resumed);
  }

  bool GoesOnOfRanks() const {
    const std::string& from = options_.resumed_of_ranks;
    return !from.empty() && std::filesystem::equivalent(from, options_.checkpoint) &&
           OpenRankChain(from).info().plan == trainer_.model().sharded()->tables().plan();
  }

  // Saves, unless a chain goes on, which already has this state.
  void SaveAsItIs() {
    const bool goes_on =
        (checkpoints_ && checkpoints_->position()) || (of_ranks_ && of_ranks_->position());
    if (!goes_on) Save();
  }

  void RunEpoch() {
    const double begin = timer_.seconds();
    EpochReport epoch{.epoch = trainer_.progress().epoch + 1,
                      .rows = 0,
                      .train_loss = 0,
                      .seconds = 0,
                      .evaluation = {},
                      .raw_ids = {}};
    TrainRows(epoch);
    report_.rows += epoch.rows;
    report_.training_seconds += timer_.seconds() - begin;
    if (report_.stopped) return Save();
    if (metrics_) metrics_->OnEpochEnd(epoch.epoch, trainer_.progress().step);
    trainer_.EndEpoch();
    Save();  // before the evaluation: what was learned is safe whatever happens there
    epoch.evaluation = Evaluate();
    if (report_.stopped) return;
    report_.evaluation = epoch.evaluation;
    epoch.seconds = timer_.seconds() - begin;
    epoch.raw_ids = raw_ids_.ReportSync();
    report_.epochs.push_back(epoch);
    options_.on_epoch(epoch);
  }

  // The rest of the epoch, for this rank.
  std::unique_ptr<DataSource> OpenTrain() const {
    const TrainingProgress at = trainer_.progress();
    const Communicator* const comm = trainer_.comm();
    return data_.OpenTrain(at.row, at.epoch, comm == nullptr ? 0 : comm->rank(),
                           comm == nullptr ? 1 : comm->size());
  }

  void TrainRows(EpochReport& epoch) {
    epoch.whole = trainer_.progress().row == 0;
    const auto source = OpenTrain();
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
    int64_t skipped = 0;
    while (!(report_.stopped = options_.stop())) {
      const std::optional<TrainedBatch> batch = steps->Next();
      if (!batch) {
        skipped = source.skipped_rows();
        for (const auto& [reason, count] : source.skipped_by_reason())
          report_.skipped_by_reason[reason] += count;
        break;
      }
      skipped = batch->skipped_rows;
      epoch.rows += batch->rows;
      loss_sum += batch->loss * static_cast<double>(batch->rows);
      const int64_t step = trainer_.progress().step;
      if (metrics_) metrics_->OnStep(batch->scored, epoch.epoch, step, batch->loss);
      options_.on_step({epoch.epoch, step, batch->rows, batch->loss, batch->fraction});
      if (options_.checkpoint_every <= 0 || step % options_.checkpoint_every != 0) continue;
      steps->Settle();
      Save();
    }
    report_.skipped_rows += skipped;
    return loss_sum;
  }

  std::optional<EvaluationValues> Evaluate() {
    const auto source = data_.OpenEval();
    if (source == nullptr) return std::nullopt;
    const EvaluationValues values =
        trainer_.Evaluate(*source, options_.stop, metrics_ ? metrics_->BeginEvaluation() : nullptr);
    report_.stopped = options_.stop();
    const bool any = std::ranges::any_of(
        values.tasks, [](const auto& task) { return task.values.clicks.examples > 0; });
    if (!any && !report_.stopped) throw Error("there are no rows for evaluation");
    const TrainingProgress at = trainer_.progress();
    if (metrics_ && !report_.stopped) metrics_->EndEvaluation(at.epoch, at.step, values.loss);
    return values;
  }

  void Save() {
    if (options_.checkpoint.empty()) return;
    timer_.Hold([&] {
      const auto metrics = metrics_ ? metrics_->State() : std::vector<NamedTensor>();
      if (checkpoints_)
        trainer_.Save(*checkpoints_, metrics);
      else if (of_ranks_)
        trainer_.Save(*of_ranks_, metrics);
      else
        trainer_.Save(options_.checkpoint, metrics);
    });
  }

  Trainer& trainer_;
  const DataSets& data_;
  TrainingRunOptions options_;
  TrainerPipeline pipeline_;
  RawIdsMeter raw_ids_;
  std::optional<TrainingMetrics> metrics_;
  std::optional<IncrementalCheckpoints> checkpoints_;
  std::optional<RankCheckpoints> of_ranks_;
  Timer timer_;
  TrainingRunReport report_;
};

}  // namespace

TrainingRunReport RunTraining(Trainer& trainer, const DataSets& data,
                              const TrainingRunOptions& options) {
  return TrainingRun(trainer, data, options).Run();
}

}  // namespace tessera
