#ifndef TESSERA_MODELS_LAYERS_INTERACTION_H_
#define TESSERA_MODELS_LAYERS_INTERACTION_H_
// Interactions of a DLRM's dense and sparse features (torchrec/models/dlrm.py). z = [dense;
// sparse_1 … sparse_F] is [B, F+1, D]; the sparse blocks come side by side, [B, F·D], as an
// EmbeddingBagCollection returns them.
#include <string>
#include <vector>

#include "models/layers/cross_net.h"
#include "models/layers/mlp.h"
#include "runtime/context.h"

namespace tessera {

// y = [dense, z_i·z_j for i < j, row-major]: dense [B, D], sparse [B, F·D] -> [B, D + F(F+1)/2]. F
// = 0: y = dense. Rows may have any stride. The same bits on every device. Throws Error for shapes
// that don't fit, and on CUDA for more than 3071 features.
Variable DotInteraction(Context& ctx, const Variable& dense, const Variable& sparse);

// An interaction as a part of a model: dense [B, D], sparse [B, F·D] -> [B, out_size()].
class InteractionArch : public Module {
 public:
  // dense [B, D], sparse [B, F·D] -> [B, out_size()]. Throws Error for shapes that don't fit.
  virtual Variable Forward(Context& ctx, const Variable& dense, const Variable& sparse) const = 0;
  virtual int64_t out_size() const = 0;
};

// DotInteraction; no parameters.
class DotInteractionArch final : public InteractionArch {
 public:
  DotInteractionArch(int64_t num_features, int64_t dim) : features_(num_features), dim_(dim) {}

  Variable Forward(Context& ctx, const Variable& dense, const Variable& sparse) const override {
    return DotInteraction(ctx, dense, sparse);
  }
  int64_t out_size() const override { return dim_ + features_ * (features_ + 1) / 2; }
  void AppendParameters(const std::string&, std::vector<NamedParameter>&) const override {}

 private:
  int64_t features_, dim_;
};

// A low-rank cross net of z: [B, (F+1)·D]. Parameters "crossnet.…".
class DcnInteraction final : public InteractionArch {
 public:
  // REQUIRES: dim, layers and low_rank above 0.
  DcnInteraction(Context& ctx, int64_t num_features, int64_t dim, int64_t layers, int64_t low_rank);

  Variable Forward(Context& ctx, const Variable& dense, const Variable& sparse) const override;
  int64_t out_size() const override { return size_; }
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;
  const LowRankCrossNet& crossnet() const { return crossnet_; }

 private:
  int64_t size_;
  LowRankCrossNet crossnet_;
};

// a = branch1(z) as [B, P1, D], b = branch2(z) as [B, D, P2]; y = [dense, a·b]: [B, D + P1·P2].
// Parameters "interaction_branch1.model._mlp.<i>…" and "interaction_branch2.…". ReLU on every
// layer.
class ProjectionInteraction final : public InteractionArch {
 public:
  // REQUIRES: dim > 0; the last size of each branch is a multiple of dim.
  ProjectionInteraction(Context& ctx, int64_t num_features, int64_t dim,
                        const std::vector<int64_t>& branch1, const std::vector<int64_t>& branch2);

  Variable Forward(Context& ctx, const Variable& dense, const Variable& sparse) const override;
  int64_t out_size() const override;
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

  // Throws Error for branches whose last size is no multiple of dim. REQUIRES: they have sizes.
  static void CheckBranches(const std::vector<int64_t>& branch1,
                            const std::vector<int64_t>& branch2, int64_t dim);

 private:
  int64_t dim_;
  Mlp branch1_, branch2_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_LAYERS_INTERACTION_H_
