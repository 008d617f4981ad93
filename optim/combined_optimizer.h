#ifndef TESSERA_OPTIM_COMBINED_OPTIMIZER_H_
#define TESSERA_OPTIM_COMBINED_OPTIMIZER_H_
// Several optimizers as one.
//
//   auto fused = std::make_shared<FusedOptimizer>(tables);
//   auto dense = std::make_shared<DenseOptimizer>(ctx, model.Parameters(), config);
//   CombinedOptimizer optimizer({{"embeddings", fused}, {"dense", dense}});
//
// A key is the part's prefix, a dot and the part's own key, or, without a prefix, the part's own
// key. Groups are those of the parts, one part after another.
#include <memory>
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "runtime/context.h"

namespace tessera {

class CombinedOptimizer final : public Optimizer {
 public:
  struct Part {
    std::string prefix;  // may be empty
    std::shared_ptr<Optimizer> optimizer;
  };

  // Throws Error, naming it, for a key that two parameters would have.
  explicit CombinedOptimizer(std::vector<Part> parts);

  void Step(Context& ctx) override;
  void ZeroGrad() override;
  std::vector<std::string> Keys() const override;
  std::vector<NamedParameter> Variables() const override;
  std::vector<ParamGroup> ParamGroups() const override;
  int num_groups() const override;
  double GroupLearningRate(int group) const override;
  void SetGroupLearningRate(int group, double lr) override;
  void SetLearningRate(double lr) override;
  OptimizerStateDict StateDict() const override;
  void CheckStateDict(const OptimizerStateDict& state) const override;
  void LoadStateDict(Context& ctx, const OptimizerStateDict& state) override;

  const std::vector<Part>& parts() const { return parts_; }

 private:
  // The part that a group belongs to; `group` becomes its number there.
  Optimizer& PartOf(int& group) const;
  // Returns each part's entries under that part's own keys. Throws Error for keys that belong to no
  // part.
  std::vector<OptimizerStateDict> Split(const OptimizerStateDict& state) const;

  std::vector<Part> parts_;
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_COMBINED_OPTIMIZER_H_
