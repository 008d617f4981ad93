// Checks what a run's evaluations need, before it begins.
#include "runtime/base/check.h"
#include "train/run/evaluation_schedule.h"
#include "train/run/training_run.h"

namespace tessera {

void CheckEvaluations(const TrainConfig& config, const DataSets& data,
                      const TrainingRunOptions& options) {
  if (!config.evaluation) {
    TESSERA_CHECK(options.best.empty(), "{}: the best model of a training without \"evaluation\"",
                  options.best);
    return;
  }
  const EvaluationConfig& evaluation = *config.evaluation;
  const bool inside = evaluation.every_steps > 0 || evaluation.every > 0;
  const bool needed =
      inside || evaluation.target || evaluation.patience > 0 || !options.best.empty();
  if (needed && !data.has_eval_rows())
    throw Error(
        "evaluation: there are no rows for it: give --eval FILE, --eval-rows FIRST:LAST or a "
        "data.split, or do without (--eval-every 0, --stop-at none, --patience 0, no --best)");
  EvaluationSchedule(config, data.EpochRows());
  if (inside && !options.best.empty() && options.pipeline == PipelineKind::kSemiSync)
    throw Error(
        "--best with evaluations inside epochs beside --pipeline semi_sync: a save there looks the "
        "next batch up anew, so what is trained would depend on which evaluation is the best; "
        "expected --pipeline none, base, sparse_dist or prefetch");
}

}  // namespace tessera
