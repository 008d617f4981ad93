#ifndef TESSERA_TESTS_CONFORMANCE_WARMUP_STAGES_H_
#define TESSERA_TESTS_CONFORMANCE_WARMUP_STAGES_H_
// Learning rates in stages, as the kinds dense_optim and train describe them.
#include "optim/warmup_schedule.h"
#include "tests/conformance/case.h"

namespace tessera::conformance {

inline WarmupStage ReadWarmupStage(const Json& json) {
  WarmupStage stage;
  stage.policy = ParseWarmupPolicy(json.at("policy").get<std::string>());
  stage.max_iters = json.at("max_iters").get<int64_t>();
  stage.value = json.value("value", stage.value);
  stage.lr_scale = json.value("lr_scale", stage.lr_scale);
  stage.decay_iters = json.value("decay_iters", stage.decay_iters);
  stage.sgdr_period = json.value("sgdr_period", stage.sgdr_period);
  stage.start_interpolating_iters =
      json.value("start_interpolating_iters", stage.start_interpolating_iters);
  stage.end_value = json.value("end_value", stage.end_value);
  return stage;
}

inline std::vector<WarmupStage> ReadWarmupStages(const Json& list) {
  std::vector<WarmupStage> stages;
  for (const Json& json : list) stages.push_back(ReadWarmupStage(json));
  return stages;
}

}  // namespace tessera::conformance
#endif  // TESSERA_TESTS_CONFORMANCE_WARMUP_STAGES_H_
