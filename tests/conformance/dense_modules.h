#ifndef TESSERA_TESTS_CONFORMANCE_DENSE_MODULES_H_
#define TESSERA_TESTS_CONFORMANCE_DENSE_MODULES_H_
// Modules that the kinds dense, dense_optim, model and checkpoint share.
#include "models/ranking_model.h"
#include "models/two_tower.h"
#include "optim/dense_optimizer.h"
#include "tests/conformance/case.h"

namespace tessera::conformance {

// `optimizer` with hyper's options, which have torch's names ("betas": [b1, b2]). Throws
// Unsupported for options that the library does not have.
DenseOptimizerConfig ReadDenseOptimizer(const std::string& optimizer, const Json& hyper);

// attrs.tables and attrs.arch of the kinds model and checkpoint.
RankingModelConfig ReadRankingModel(const Case& c);
// The outputs of TorchRec's model: SimpleDeepFMNN's are the probabilities of RankingModel's logits.
Variable TorchRecOutputs(Context& ctx, RankingModel& model, const Variable& dense,
                         const KeyedJaggedTensor& features);
// REQUIRES: attrs.model is two_tower.
TwoTowerConfig ReadTwoTower(const Case& c);

// The tensors whose names begin with `prefix`, without it.
std::vector<NamedTensor> WithPrefix(const Tensors& tensors, const std::string& prefix);

}  // namespace tessera::conformance
#endif  // TESSERA_TESTS_CONFORMANCE_DENSE_MODULES_H_
