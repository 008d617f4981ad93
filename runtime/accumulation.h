#ifndef TESSERA_RUNTIME_ACCUMULATION_H_
#define TESSERA_RUNTIME_ACCUMULATION_H_
// Gradient accumulation: one step on a batch that comes in micro-batches, each with a forward and a
// backward pass of its own, so that activations are those of a micro-batch.
//
//   Accumulation step(/*examples=*/8192, /*passes=*/4);
//   for (const MicroBatch& part : parts) {
//     step.Begin(part.size());
//     Tape tape(ctx, &step);
//     tape.Backward(Loss(…));       // a mean over all 8192 examples
//   }
//   optimizer.Step(ctx);            // on the gradients of the last pass
//
// On a CPU the gradients of parameters have the bits of one pass over the joined batch: an op that
// sums over examples goes on where the pass before ended (Function::SumOverExamples), in chunks
// that lie as in one pass, and parameters get their gradients in the last pass alone. On a GPU the
// order of the sums within products differs. Tables accumulate beside it
// (TableBatchedEmbedding::AccumulateForwards).
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/autograd.h"

namespace tessera {

class Accumulation {
 public:
  // The number of examples of a micro-batch is a multiple of this: sums over examples are made of
  // chunks that divide it.
  static constexpr int64_t kExamples = 128;

  // The passes have `examples` together. Throws Error below 0, or for less than one pass.
  Accumulation(int64_t examples, int passes);

  // The next pass has `examples`. Throws Error for a pass too many, for a number that is no
  // multiple of kExamples before the last pass that has some, and for a last pass that does not
  // bring all of the step's examples; nothing has begun then.
  void Begin(int64_t examples);
  // Whether the pass that was begun is the last one.
  bool last() const { return passes_begun_ == passes_; }
  // How many items the whole step has of what has `items` in this pass: as many for each example.
  // Throws Error if the items are no multiple of the pass's examples.
  int64_t ItemsOfStep(int64_t items) const;

 private:
  friend class Function;
  friend class Tape;
  using Place = std::pair<int64_t, size_t>;  // the number of a node, and its input
  struct Chain {
    std::string function;
    Tensor sum;
  };
  Tensor& ChainAt(const Place& place, std::string_view function);
  // A gradient arrives at a variable that is no result of an op. Throws Error if one did in an
  // earlier pass: the sum of both would not have the bits of one pass.
  void Receive(const Variable& variable, std::string_view function);
  void EndPass();

  int64_t examples_, examples_begun_ = 0, examples_of_pass_ = 0;
  int passes_, passes_begun_ = 0;
  std::map<Place, Chain> chains_;
  std::vector<Variable> received_, received_before_;  // in this pass, and in earlier ones
};

namespace internal {
// Items of the whole step that ctx accumulates, as ItemsOfStep; else `items`.
int64_t ItemsOfStep(const Context& ctx, int64_t items);
}  // namespace internal

}  // namespace tessera
#endif  // TESSERA_RUNTIME_ACCUMULATION_H_
