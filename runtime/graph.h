#ifndef TESSERA_RUNTIME_GRAPH_H_
#define TESSERA_RUNTIME_GRAPH_H_
// A recording of what a function gives to a GPU's queue, given again by one call: a training step's
// launches for the price of one.
//
//   const CudaGraph step = CudaGraph::Capture(ctx, [&] { Step(ctx, batch); });
//   for (…) { batch.dense.CopyFrom(ctx, next.dense); …; step.Launch(ctx); }
//
// Kernels and copies are recorded with the addresses and numbers they were given; what the function
// does on the host happens once. Tensors of the device, and pinned ones, are read anew by each
// launch; of other host memory a copy is kept. Tensors that the function makes are memory of the
// graph, and each launch writes them anew. Embedding tables and optimizers count each launch, not
// the recording, as a step, with the learning rates and bits of a plain one.
#include <functional>
#include <memory>

#include "runtime/context.h"

namespace tessera {

// A handle.
class CudaGraph {
 public:
  // Calls fn, of which nothing runs on the device. Throws Error, and keeps nothing, if fn throws or
  // waits for the device (Sync, To the host, a size that depends on data), or on a CPU. REQUIRES:
  // fn works on ctx alone; the memory it works on, if not made by it, and the optimizers that it
  // steps live as long as the graph.
  static CudaGraph Capture(Context& ctx, const std::function<void()>& fn);

  // Gives all of it to ctx's queue once more. REQUIRES: the context of Capture.
  void Launch(Context& ctx) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace tessera
#endif  // TESSERA_RUNTIME_GRAPH_H_
