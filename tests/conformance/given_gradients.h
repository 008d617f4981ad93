#ifndef TESSERA_TESTS_CONFORMANCE_GIVEN_GRADIENTS_H_
#define TESSERA_TESTS_CONFORMANCE_GIVEN_GRADIENTS_H_
// The backward pass of several outputs whose gradients a case gives.
#include <memory>
#include <utility>
#include <vector>

#include "runtime/autograd.h"

namespace tessera::conformance {

// Σ_j <outputs[j], grads[j]>, whose value nobody reads.
class DotFunction : public Function {
 public:
  explicit DotFunction(std::vector<Tensor> grads) : grads_(std::move(grads)) {}
  std::string_view name() const override { return "Dot"; }
  std::vector<Tensor> Backward(Context&, const std::vector<Tensor>&) override { return grads_; }

 private:
  std::vector<Tensor> grads_;
};

// Goes backward from all outputs at once: a tape takes one root. grads: one an output, of its type.
inline void BackwardFrom(Context& ctx, Tape& tape, const std::vector<Variable>& outputs,
                         std::vector<Tensor> grads) {
  tape.Backward(Record(ctx, std::make_unique<DotFunction>(std::move(grads)), outputs,
                       Tensor::Zeros(ctx, {1})));
}

}  // namespace tessera::conformance
#endif  // TESSERA_TESTS_CONFORMANCE_GIVEN_GRADIENTS_H_
