#ifndef TESSERA_OPTIM_OPTIMIZER_WRAPPER_H_
#define TESSERA_OPTIM_OPTIMIZER_WRAPPER_H_
// An optimizer that leaves all to another one; those that change a part of it derive from this.
#include <memory>
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera {

class OptimizerWrapper : public Optimizer {
 public:
  // Throws Error for null.
  explicit OptimizerWrapper(std::shared_ptr<Optimizer> optimizer)
      : optimizer_(std::move(optimizer)) {
    TESSERA_CHECK(optimizer_ != nullptr, "an optimizer round no other");
  }

  void Step(Context& ctx) override { optimizer_->Step(ctx); }
  void ZeroGrad() override { optimizer_->ZeroGrad(); }
  std::vector<std::string> Keys() const override { return optimizer_->Keys(); }
  std::vector<NamedParameter> Variables() const override { return optimizer_->Variables(); }
  std::vector<ParamGroup> ParamGroups() const override { return optimizer_->ParamGroups(); }
  int num_groups() const override { return optimizer_->num_groups(); }
  double GroupLearningRate(int group) const override {
    return optimizer_->GroupLearningRate(group);
  }
  void SetGroupLearningRate(int group, double lr) override {
    optimizer_->SetGroupLearningRate(group, lr);
  }
  void SetLearningRate(double lr) override { optimizer_->SetLearningRate(lr); }
  OptimizerStateDict StateDict() const override { return optimizer_->StateDict(); }
  void CheckStateDict(const OptimizerStateDict& state) const override {
    optimizer_->CheckStateDict(state);
  }
  void LoadStateDict(Context& ctx, const OptimizerStateDict& state) override {
    optimizer_->LoadStateDict(ctx, state);
  }

  Optimizer& wrapped() { return *optimizer_; }
  const Optimizer& wrapped() const { return *optimizer_; }

 private:
  std::shared_ptr<Optimizer> optimizer_;
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_OPTIMIZER_WRAPPER_H_
