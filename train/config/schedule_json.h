#ifndef TESSERA_TRAIN_CONFIG_SCHEDULE_JSON_H_
#define TESSERA_TRAIN_CONFIG_SCHEDULE_JSON_H_
// The JSON of what surrounds the optimizers: stages of learning rates, [{"policy": "linear",
// "max_iters": 1000, "value": 0.1}, …], each with the fields of its policy and "lr_scale"; and
// clipping, {"mode": "norm", "max_gradient": 1, "norm_type": 2}.
#include <string>
#include <vector>

#include "optim/gradient_clipping_optimizer.h"
#include "optim/warmup_schedule.h"
#include "runtime/json/json_object.h"

namespace tessera::internal {

// Reads the key "warmup" of the optimizers. Adds to the object's problems, or throws Error, for an
// unknown policy or field, listing those there are, or stages that WarmupSchedule refuses.
void ReadWarmup(JsonObject& optimizers, std::vector<WarmupStage>& stages);
Json WarmupToJson(const std::vector<WarmupStage>& stages);

// Throws Error, or adds to `problems`, for an unknown mode or field, or a number that is not above
// 0. norm_type is a number or "inf".
GradientClippingOptions ClippingFromJson(const Json& value, const std::string& where,
                                         JsonProblems* problems = nullptr);
Json ClippingToJson(const GradientClippingOptions& options);

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_CONFIG_SCHEDULE_JSON_H_
