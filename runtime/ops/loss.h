#ifndef TESSERA_RUNTIME_OPS_LOSS_H_
#define TESSERA_RUNTIME_OPS_LOSS_H_
// Losses: means over the batch, of shape []; in a pass of several that are one step (Accumulation),
// its share of the mean over the step's examples. Labels and weights are not differentiated.
// REQUIRES: a batch that isn't empty, unless LossOver says what to divide by.
#include "runtime/autograd.h"

namespace tessera {

// A divisor of the sum Σ w·l of a loss in place of the number of elements: the loss is then
// Σ w·l·factor/total, 0 where total is 0, or the batch is empty.
struct LossOver {
  Tensor total = {};  // f32, of shape []; undefined: the loss is a mean, whatever `factor` is
  double factor = 1;
};

// The rows of a batch that a loss is a mean over.
struct LossRows {
  Tensor labels, weights;  // [B]; 0 where a row does not count
  Tensor total;            // Σ weights, of shape []
};
// A row counts if its label is not NaN, and `where` (if defined) is above 0 there. labels and
// where: [B], or a column [B, 1] of a matrix; undefined labels: every row counts; weights [B],
// undefined: all 1.
LossRows RowsThatCount(Context& ctx, int64_t rows, const Tensor& labels, const Tensor& weights,
                       const Tensor& where);
// Whether a row does, in host memory; null: it has no label, or no `where`, to ask for.
bool RowCounts(const float* label, const float* where);

// mean of w·(max(x, 0) − x·t + log(1 + e^−|x|)): binary cross entropy of sigmoid(x) against t in
// [0, 1]. logits, labels and weights (undefined: 1) have the same shape, f32. Still the mean over
// all elements with weights.
Variable BceWithLogits(Context& ctx, const Variable& logits, const Tensor& labels,
                       const Tensor& weights = {}, const LossOver& over = {});

// mean of w·(−t·max(log p, −100) − (1 − t)·max(log(1 − p), −100)), with the gradient w·(p − t) /
// max(p(1 − p), 1e-12), as torch has them. REQUIRES: p in [0, 1]. Weights as of BceWithLogits.
Variable Bce(Context& ctx, const Variable& probabilities, const Tensor& labels,
             const Tensor& weights = {}, const LossOver& over = {});

// mean of w·(x − t)². Weights as of BceWithLogits.
Variable Mse(Context& ctx, const Variable& x, const Tensor& labels, const Tensor& weights = {},
             const LossOver& over = {});

// mean of −log softmax(logits_b)[label_b]. logits [B, C], labels [B], integers. A label outside [0,
// C) is an Error on a CPU; on CUDA, where no loss waits for the device, it makes the loss NaN.
Variable SoftmaxCrossEntropy(Context& ctx, const Variable& logits, const Tensor& labels);

struct InBatchSoftmaxOptions {
  float temperature = 1;
  bool normalize = false;  // rows divided by max(‖·‖₂, eps) first
  float eps = 1e-12f;
  int64_t first = 0;    // the candidate of q's first row
  Tensor weights = {};  // [B] of q's rows; undefined: all 1
  LossOver over = {};
};
// Cross entropy of q·cᵀ/temperature against the own candidate, row first + b of c for row b: the
// other candidates are the negatives. q [B, D], c [C, D].
Variable InBatchSoftmax(Context& ctx, const Variable& q, const Variable& c,
                        const InBatchSoftmaxOptions& options = {});

}  // namespace tessera
#endif  // TESSERA_RUNTIME_OPS_LOSS_H_
