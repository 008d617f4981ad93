#ifndef TESSERA_OPTIM_DENSE_STATE_NAMES_H_
#define TESSERA_OPTIM_DENSE_STATE_NAMES_H_
// Names, torch's own, of the states that a dense optimizer has of each parameter.
#include <cstdint>
#include <string>
#include <vector>

#include "optim/dense_optimizer_config.h"

namespace tessera {

std::vector<std::string> DenseStateNames(const DenseOptimizerConfig& config);

// How many of these have as many elements as the parameter.
int64_t CountStatesOfElements(const DenseOptimizerConfig& config);
// How many have one element a row of a matrix.
int64_t CountStatesOfRows(const DenseOptimizerConfig& config);
// Bytes of both for a row of so many columns. States are f32.
int64_t DenseStateBytesARow(const DenseOptimizerConfig& config, int64_t columns);

}  // namespace tessera
#endif  // TESSERA_OPTIM_DENSE_STATE_NAMES_H_
