#ifndef TESSERA_TRAIN_CONFIG_NUMBER_JSON_H_
#define TESSERA_TRAIN_CONFIG_NUMBER_JSON_H_
// Numbers of optimizers: their ranges, and how a float is written.
#include <string>

namespace tessera::internal {

// Throws Error unless a number called `key` may have this value: none but dampening is negative,
// and beta1 and beta2 are below 1.
void CheckNumberField(const std::string& key, double value, const std::string& where);

// The double that prints as the float does: 0.02f gives 0.02, not 0.019999999552965164.
double ShortestDouble(float value);

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_CONFIG_NUMBER_JSON_H_
