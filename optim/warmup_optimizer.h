#ifndef TESSERA_OPTIM_WARMUP_OPTIMIZER_H_
#define TESSERA_OPTIM_WARMUP_OPTIMIZER_H_
// An optimizer whose learning rates follow a schedule (warmup_schedule.h): TorchRec's
// WarmupOptimizer. Step k (from 0) uses the rates after k steps of the schedule; they are set when
// this is made and after each step. (A rate that is set by hand holds until the next step.)
//
// The schedule's position is the state `warmup`, i64 [2] (iteration, stage), under the key
// `__warmup`, which names no parameter.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "optim/optimizer_wrapper.h"
#include "optim/warmup_schedule.h"
#include "runtime/tensor.h"

namespace tessera {

inline constexpr char kWarmupKey[] = "__warmup";

class WarmupOptimizer final : public OptimizerWrapper {
 public:
  // base_lr is the base of every group (of a fused table, its lr_scale times that); absent, each
  // group's is the rate that it has now. Throws
  // Error for stages that WarmupSchedule refuses, or an optimizer that has the key already.
  WarmupOptimizer(std::shared_ptr<Optimizer> optimizer, std::vector<WarmupStage> stages,
                  std::optional<double> base_lr = {}, std::string key = kWarmupKey);

  // Throws Error, having done nothing, if the next rates are no finite numbers.
  void Step(Context& ctx) override;

  std::vector<std::string> Keys() const override;
  OptimizerStateDict StateDict() const override;
  void CheckStateDict(const OptimizerStateDict& state) const override;
  void LoadStateDict(Context& ctx, const OptimizerStateDict& state) override;

  const WarmupSchedule& schedule() const { return schedule_; }
  // Position of the schedule, as the state `warmup`.
  Tensor Position() const;
  // Continues the schedule from `position`. Throws Error, and changes nothing, for what is no
  // position of the schedule.
  void SetPosition(const Tensor& position);

 private:
  WarmupSchedule ScheduleAt(const Tensor& position) const;
  void SetRates();

  WarmupSchedule schedule_;
  std::optional<double> base_lr_;   // of all groups
  std::vector<double> group_base_;  // else, one a group
  std::string key_;
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_WARMUP_OPTIMIZER_H_
