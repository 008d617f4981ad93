#ifndef TESSERA_SERVE_DENSE_PART_H_
#define TESSERA_SERVE_DENSE_PART_H_
// Of a ranking model, all but the tables (train/nn/ranking_net.h), with the names of its state
// dict.
#include <memory>

#include "serve/model_spec.h"
#include "train/nn/ranking_net.h"

namespace tessera::serve {

// Its parameters are still to be read. Throws Error as MakeRankingNet does.
std::unique_ptr<RankingNet> MakeDensePart(Context& ctx, const ModelSpec& spec);

// The click probabilities [B] of dense [B, dense_in] and pooled [B, F·D].
Tensor ClickProbabilities(Context& ctx, const RankingNet& net, const Tensor& dense,
                          const Tensor& pooled);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_DENSE_PART_H_
