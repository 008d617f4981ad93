#ifndef TESSERA_MODELS_MIXTURE_NET_H_
#define TESSERA_MODELS_MIXTURE_NET_H_
// Nets of several tasks that share experts, over x = [dense_arch(dense), pooled] (tables of any
// dims). Each task's mixture goes through a tower of its own, an MLP to one output.
//
//   mmoe (Ma et al., KDD 2018)    m_t = Σ_e softmax(gate_t(x))_e·expert_e(x)
//   ple  (Tang et al., RecSys 2020)  in each of the layers a task t takes a mean of its own experts
//        and of the shared ones, weighed by a gate of its own input, x_t; what is shared takes one
//        of all experts. Each is an input of the next layer; that of the first is x for all.
#include <memory>
#include <vector>

#include "models/layers/experts.h"
#include "models/layers/over_arch.h"
#include "models/ranking_net.h"
#include "runtime/context.h"

namespace tessera {

// Parameters, in this order: "dense_arch.model._mlp.<i>._linear.…";
//   mmoe  "experts.<e>.model._mlp.<i>._linear.…", "gates.<t>.weight", "gates.<t>.bias";
//   ple   for each layer l "extraction.<l>." + "task_experts.<t>.<e>.model._mlp.<i>._linear.…",
//         "shared_experts.<e>.…", "task_gates.<t>.…", and, but in the last, "shared_gate.…";
// then "towers.<t>.model.0._mlp.<i>._linear.…", "towers.<t>.model.1.…", t counting tasks.
//
// REQUIRES: a checked configuration of mmoe or ple.
std::unique_ptr<RankingNet> MakeMixtureNet(Context& ctx, const RankingNetConfig& config,
                                           const std::vector<PooledFeature>& features);

}  // namespace tessera
#endif  // TESSERA_MODELS_MIXTURE_NET_H_
