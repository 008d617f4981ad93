#ifndef TESSERA_TRAIN_CONFIG_NUMBER_JSON_H_
#define TESSERA_TRAIN_CONFIG_NUMBER_JSON_H_
// The ranges of numbers of optimizers.
#include <string>

#include "runtime/json/json_schema.h"

namespace tessera::internal {

// Throws Error unless a number called `key` may have this value: none but dampening is negative,
// and beta1 and beta2 are below 1.
void CheckNumberField(const std::string& key, double value, const std::string& where);
// The values that CheckNumberField lets pass, as keywords of JSON Schema.
Json NumberFieldBounds(const std::string& key);

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_CONFIG_NUMBER_JSON_H_
