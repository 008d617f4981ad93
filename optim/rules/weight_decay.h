#ifndef TESSERA_OPTIM_RULES_WEIGHT_DECAY_H_
#define TESSERA_OPTIM_RULES_WEIGHT_DECAY_H_
// How the weights of a touched row decay: added to the gradient (L2), or beside it (DECOUPLE).
// ADAGRADW is defined for row-wise Adagrad with counter alone.
#include <string>

namespace tessera {

enum class WeightDecayMode { kNone, kL2, kDecouple, kAdagradW };
std::string ToString(WeightDecayMode mode);  // "NONE", "L2", "DECOUPLE", "ADAGRADW"
WeightDecayMode ParseWeightDecayMode(const std::string& name);

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_WEIGHT_DECAY_H_
