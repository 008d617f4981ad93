#ifndef TESSERA_OPTIM_GRADIENT_CLIPPING_OPTIMIZER_H_
#define TESSERA_OPTIM_GRADIENT_CLIPPING_OPTIMIZER_H_
// An optimizer whose gradients are clipped before each step: TorchRec's GradientClippingOptimizer.
//
//   none    they are taken as they are
//   norm    g ← g·min(1, max_gradient/(‖g‖ + 1e-6)), ‖g‖ the p-norm of all gradients together
//   value   every element is clamped to ±max_gradient
//
// Only variables have gradients to clip; those of tables that are updated inside backward never
// exist (TableBatchedEmbeddingOptions::max_gradient bounds what comes in there). Nothing waits for
// the device, which computes the norm and uses it; all devices give the same bits.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "optim/optimizer_wrapper.h"
#include "runtime/tensor.h"

namespace tessera {

enum class GradientClipping { kNone, kNorm, kValue };
std::string ToString(GradientClipping mode);  // as above

struct GradientClippingOptions {
  GradientClipping mode = GradientClipping::kNone;
  double max_gradient = 0.1;
  double norm_type = 2;  // p, above 0; infinity: the largest |g|

  // For gradients of which each rank has a part: given this rank's Σ|g|^p (p = ∞: its largest |g|)
  // in a tensor [1], f64, on ctx's device, replaces it by the sum (the largest) over all ranks, in
  // the order of ctx's stream. Called once a step in mode norm, also where no parameter has a
  // gradient.
  std::function<void(Context& ctx, const Tensor& total)> over_ranks = nullptr;
  // Keys of parameters whose gradients are the same on every rank: counted once, not given to
  // over_ranks.
  std::vector<std::string> replicated = {};
};

class GradientClippingOptimizer final : public OptimizerWrapper {
 public:
  // Throws Error for a max_gradient or norm_type that is not above 0, or a replicated key that the
  // optimizer does not have.
  GradientClippingOptimizer(std::shared_ptr<Optimizer> optimizer, GradientClippingOptions options);

  // Afterwards the variables' gradients are the clipped ones. (Gradients whose memory something
  // else shares are replaced, not changed.)
  void Step(Context& ctx) override;

  // ‖g‖ before the last step's clipping, [] f64, on the device: undefined before the first step and
  // in modes none and value.
  const Tensor& total_norm() const { return total_norm_; }
  const GradientClippingOptions& options() const { return options_; }

 private:
  GradientClippingOptions options_;
  Tensor total_norm_;
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_GRADIENT_CLIPPING_OPTIMIZER_H_
