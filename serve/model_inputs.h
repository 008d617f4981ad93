#ifndef TESSERA_SERVE_MODEL_INPUTS_H_
#define TESSERA_SERVE_MODEL_INPUTS_H_
// Whether who sends requests to one model can send them to the next: what a request has to bring is
// dense values, so many, and ids of features, whose names and order both have.
#include <string>

#include "serve/model_spec.h"

namespace tessera::serve {

// Describes how the inputs of `next` differ from those of `before`: "4 dense values instead of 13,
// not the features cat_0, cat_1, also the features cat_7"; "" where they are the same.
std::string OtherInputs(const ModelSpec& before, const ModelSpec& next);

// Throws Error, which begins with `where` and ends with what allows it, for a model that reads
// other inputs.
void CheckSameInputs(const ModelSpec& before, const ModelSpec& next, const std::string& where,
                     const std::string& allows_it);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_MODEL_INPUTS_H_
