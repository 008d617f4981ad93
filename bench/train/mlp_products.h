#ifndef TESSERA_BENCH_TRAIN_MLP_PRODUCTS_H_
#define TESSERA_BENCH_TRAIN_MLP_PRODUCTS_H_
// The matrix products of the MLPs of a training step, forward and backward, and nothing else.
#include <cstdint>
#include <vector>

#include "runtime/tensor.h"
#include "train/config/train_config.h"

namespace tessera::bench {

class MlpProducts {
 public:
  // Makes the dense products of a DLRM.
  MlpProducts(Context& ctx, const TrainConfig& config, int64_t batch);
  void Run(Context& ctx) const;
  int64_t multiply_adds() const;  // of one Run
  // Throws Error where a product of the second layer differs between two contexts by more than
  // rounding can make of it.
  void Check(Context& a, Context& b) const;

 private:
  struct Layer {
    Tensor x, weight, dy;  // [B, in], [out, in], [B, out]
    bool first;            // the gradient of its input is not asked for
  };
  void AddLayers(Context& ctx, int64_t in, const std::vector<int64_t>& sizes, int64_t batch,
                 bool of_inputs);

  std::vector<Layer> layers_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_TRAIN_MLP_PRODUCTS_H_
