#include "cli/train/dry_run.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "cli/show/numbers.h"
#include "cli/show/split_text.h"
#include "cli/train/checkpoint_room.h"
#include "cli/train/flags/evaluation_flags.h"
#include "cli/train/flags/keep_last.h"
#include "cli/train/train_output.h"
#include "models/embedding_model.h"
#include "models/ranking_net_size.h"
#include "runtime/base/check.h"
#include "train/run/evaluation_schedule.h"

namespace tessera::cli {
namespace {

std::string ModelText(const TrainConfig& config) {
  const RankingNetSize net =
      SizeOfRankingNet(config.model, PooledFeatures(config.tables, config.model));
  return Format("{}, {}, {} dense parameters", ToString(config.model.type),
                TablesText(config.tables), WithCommas(net.parameters));
}

std::string RowsText(const TrainConfig& config, const DataSets& data) {
  const int64_t step = ExamplesOfStep(config);
  std::string text;
  if (const std::optional<RowRange> rows = data.EpochRows()) {
    const int64_t count = rows->last - rows->first;
    text = Format("{} an epoch, {} of {}", Count(count), Counted((count + step - 1) / step, "step"),
                  Count(step));
  } else {
    text = Format("all lines of the text{}, in steps of {}",
                  data.split() ? " that the split leaves" : "", Count(step));
  }
  return text + (data.has_eval_rows() ? "; others for evaluation" : "; none for evaluation");
}

// How many rows are evaluated, when, by which metric, and where that ends the training; "" without
// rows for it.
std::string EvaluationText(const TrainConfig& config, const DataSets& data) {
  if (!data.has_eval_rows()) return "";
  std::optional<int64_t> rows;
  if (const auto known = data.EvaluationRows()) rows = known->last - known->first;
  if (const auto counted = data.split_counts().Of(RowPart::kEval); !rows && counted)
    rows = counted->rows;
  std::string text = Format("{}, {}", rows ? Counted(*rows, "row") : "all rows of its text",
                            IntervalText(config, data.EpochRows()));
  if (!config.evaluation) return text;
  const EvaluationConfig& evaluation = *config.evaluation;
  const std::string metric = StateFor(config, "", {}).metric;
  text += Format("; compared by {}", metric);
  if (evaluation.target) text += Format("; stops at {} {}", metric, *evaluation.target);
  if (evaluation.patience > 0)
    text +=
        Format("; stops after {} without a better one", Counted(evaluation.patience, "evaluation"));
  return text;
}

std::string EpochsText(const TrainConfig& config, const std::optional<TrainingProgress>& from,
                       const std::string& nothing_left) {
  if (!from) return Count(config.epochs);
  if (!nothing_left.empty()) return Format("{}; {}", Count(config.epochs), nothing_left);
  return Format("{}, of which {} {} done; goes on at row {}", Count(config.epochs),
                Count(from->epoch), from->epoch == 1 ? "is" : "are", Count(from->row));
}

std::string WritesText(const TrainFlags& flags) {
  std::string text;
  for (const auto& [what, path] :
       {std::pair{"checkpoint", flags.checkpoint}, std::pair{"best model", flags.evaluation.best},
        std::pair{"metrics", flags.metrics}, std::pair{"TensorBoard", flags.tensorboard},
        std::pair{"result", flags.json}, std::pair{"MLPerf's log", flags.evaluation.mllog},
        std::pair{"record", flags.verify}, std::pair{"trace", flags.trace},
        std::pair{"plan", flags.save_plan}})
    if (!path.empty()) text += Format("{}{} ({})", text.empty() ? "" : ", ", path, what);
  return text.empty() ? "nothing: no --checkpoint is given" : text;
}

}  // namespace

void PrintDryRun(const TrainFlags& flags, const TrainConfig& config, const DataSets& data,
                 const TrainingPlace& place, const MemoryThere& there,
                 const std::optional<TrainingProgress>& from) {
  const std::string nothing_left =
      from ? NothingLeftText(config, *from, EvaluatedIn(data)) : std::string();
  const std::string memory =
      Format("{} of {} {}", BytesText(MemoryOfTraining(config, place).total() + there.processes),
             BytesText(there.bytes), there.source);
  for (const auto& [what, text] :
       {std::pair{"model", ModelText(config)}, std::pair{"rows", RowsText(config, data)},
        std::pair{"evaluation", EvaluationText(config, data)},
        std::pair{"epochs", EpochsText(config, from, nothing_left)}, std::pair{"memory", memory},
        std::pair{"disk", CheckpointRoomText(flags, config)},
        std::pair{"writes", WritesText(flags)}, std::pair{"removes", RemovedText(flags, from)}})
    if (!text.empty()) std::printf("%-10s %s\n", what, text.c_str());
  SayInterval(config, data);
  std::fputs(SplitText(data.split(), data.split_counts()).c_str(), stdout);
  std::printf("%s Nothing was trained or written (--dry-run).\n",
              nothing_left.empty() ? "Everything is as a start needs it."
                                   : "A start would have nothing to train.");
}

}  // namespace tessera::cli
