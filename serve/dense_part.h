#ifndef TESSERA_SERVE_DENSE_PART_H_
#define TESSERA_SERVE_DENSE_PART_H_
// A ranking model without its tables: its net (models/ranking_net.h) and the weights that ids have
// by their positions in a bag. Parameters have the names of the model's state dict.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/ranking_net.h"
#include "runtime/tensor.h"
#include "serve/model_spec.h"

namespace tessera::serve {

class DensePart : public Module {
 public:
  // Its parameters are still to be read. Throws Error as MakeRankingNet does.
  DensePart(Context& ctx, const ModelSpec& spec);

  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;
  // Keeps its matrices packed, too (KeepPacked). Its parameters must not change from now on.
  void KeepPacked(Context& ctx);
  const RankingNet& net() const { return *net_; }
  bool has_position_weights() const { return position_weights_.has_value(); }
  // [longest bag] f32 of a feature; undefined: all its ids weigh 1.
  Tensor position_weights(const std::string& feature) const;

  // The model's answers for dense [B, dense_in] and pooled [B, ΣD]: of one task [B], click
  // probabilities; of several [B, tasks].
  Tensor Predict(Context& ctx, const Tensor& dense, const Tensor& pooled) const;

 private:
  RankingNetConfig config_;
  std::optional<PositionWeightedModuleCollection> position_weights_;
  std::unique_ptr<RankingNet> net_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_DENSE_PART_H_
