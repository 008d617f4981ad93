#ifndef TESSERA_OPTIM_WARMUP_SCHEDULE_H_
#define TESSERA_OPTIM_WARMUP_SCHEDULE_H_
// A learning rate in stages, as TorchRec's WarmupOptimizer has it. After `i` steps the rate is
//
//   base · lr_scale · m(i),  with m by the stage's policy:
//
//   none                           1
//   linear                         value + (1 − value)·i/max_iters
//   constant                       value
//   poly                           (1 − i/decay_iters)^value
//   step                           value^⌊i/decay_iters⌋
//   inv_sqrt                       1/√i
//   cosine_annealing_warm_restarts value + (1 − value)·½(1 + cos(π·(i mod p)/p)), p = sgdr_period
//   interpolate                    value + (end_value − value)·(i − start)/(max_iters − start)
//
// i counts all steps, not those of the stage. Step i = max_iters still belongs to its stage, and
// the next one begins at max_iters + 1, as in TorchRec; the one after the last is `none`, for ever.
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

enum class WarmupPolicy {
  kNone,
  kLinear,
  kConstant,
  kPoly,
  kStep,
  kInvSqrt,
  kCosineAnnealingWarmRestarts,
  kInterpolate
};
std::string ToString(WarmupPolicy policy);  // as above
// Throws Error for another name, listing those there are.
WarmupPolicy ParseWarmupPolicy(const std::string& name);
const std::vector<WarmupPolicy>& AllWarmupPolicies();

struct WarmupStage {
  WarmupPolicy policy = WarmupPolicy::kNone;
  int64_t max_iters = 1;
  double value = 1, lr_scale = 1;
  int64_t decay_iters = -1;  // below 1: 1 for step, max_iters for the others
  int64_t sgdr_period = 1;
  int64_t start_interpolating_iters = 0;  // `start` of interpolate
  double end_value = 1;
};

// A value: the stages, and where it stands.
class WarmupSchedule {
 public:
  // Throws Error, naming the stage, where max_iters do not increase (from above 0), a first stage
  // is inv_sqrt, a period is below 1 or an interpolation has no length.
  explicit WarmupSchedule(std::vector<WarmupStage> stages = {});

  // Throws Error, naming the stage and the iteration, if the factor is negative or no finite number
  // where a stage begins or ends.
  void CheckFactors() const;

  // After one more step. Throws Error, and stays where it is, for a rate that is no finite number.
  void Step();
  // The factor that the base rate is multiplied by in the current iteration.
  double multiplier() const { return multiplier_; }
  double LearningRate(double base) const { return base * multiplier_; }

  int64_t iteration() const { return iteration_; }
  // Number of the current stage, from 0; the number of stages when all are over.
  int64_t stage() const { return stage_; }
  // Throws Error for a negative iteration or a stage that is not there.
  void SetPosition(int64_t iteration, int64_t stage);

 private:
  double MultiplierAt(int64_t iteration, int64_t stage) const;

  std::vector<WarmupStage> stages_;  // with the last one that never ends
  int64_t iteration_ = 0, stage_ = 0;
  double multiplier_ = 1;
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_WARMUP_SCHEDULE_H_
