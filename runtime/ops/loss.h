#ifndef TESSERA_RUNTIME_OPS_LOSS_H_
#define TESSERA_RUNTIME_OPS_LOSS_H_
// Losses: means over the batch, of shape []; in a pass of several that are one step (Accumulation),
// its share of the mean over the step's examples. Labels and weights are not differentiated.
// REQUIRES: a batch that isn't empty.
#include "runtime/autograd.h"

namespace tessera {

// mean of w·(max(x, 0) − x·t + log(1 + e^−|x|)): binary cross entropy of sigmoid(x) against t in
// [0, 1]. logits, labels and weights (undefined: 1) have the same shape, f32. Still the mean over
// all elements with weights.
Variable BceWithLogits(Context& ctx, const Variable& logits, const Tensor& labels,
                       const Tensor& weights = {});

// mean of w·(−t·max(log p, −100) − (1 − t)·max(log(1 − p), −100)), with the gradient w·(p − t) /
// max(p(1 − p), 1e-12), as torch has them. REQUIRES: p in [0, 1]. Weights as of BceWithLogits.
Variable Bce(Context& ctx, const Variable& probabilities, const Tensor& labels,
             const Tensor& weights = {});

// mean of w·(x − t)². Weights as of BceWithLogits.
Variable Mse(Context& ctx, const Variable& x, const Tensor& labels, const Tensor& weights = {});

// mean of −log softmax(logits_b)[label_b]. logits [B, C], labels [B], integers. A label outside [0,
// C) is an Error on a CPU; on CUDA, where no loss waits for the device, it makes the loss NaN.
Variable SoftmaxCrossEntropy(Context& ctx, const Variable& logits, const Tensor& labels);

struct InBatchSoftmaxOptions {
  float temperature = 1;
  bool normalize = false;  // rows divided by max(‖·‖₂, eps) first
  float eps = 1e-12f;
};
// Cross entropy of q·cᵀ/temperature against the diagonal: the other examples' candidates are the
// negatives. q, c [B, D].
Variable InBatchSoftmax(Context& ctx, const Variable& q, const Variable& c,
                        const InBatchSoftmaxOptions& options = {});

}  // namespace tessera
#endif  // TESSERA_RUNTIME_OPS_LOSS_H_
