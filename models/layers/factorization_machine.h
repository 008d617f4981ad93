#ifndef TESSERA_MODELS_LAYERS_FACTORIZATION_MACHINE_H_
#define TESSERA_MODELS_LAYERS_FACTORIZATION_MACHINE_H_
// Both halves of DeepFM (torchrec/modules/deepfm.py). Their inputs are tensors [B, …], each
// flattened to a row an example; the rows are joined in the order given.
#include <string>
#include <vector>

#include "models/layers/mlp.h"
#include "runtime/context.h"

namespace tessera {

// The row v of each example as above. REQUIRES: at least one input; the same B.
Variable JoinedRows(Context& ctx, const std::vector<Variable>& inputs);

// y = ½((Σ_i v_i)² − Σ_i v_i²), the sum of all products of two numbers of v: [B, n] -> [B, 1]. As
// in TorchRec it is over all numbers, not over the columns of embeddings. Sums in double, the same
// bits on every device.
Variable FactorizationMachine(Context& ctx, const Variable& v);

// An MLP of v. Parameters "dense_module._mlp.<i>…".
class DeepFm final : public Module {
 public:
  // REQUIRES: at least one layer, all sizes above 0.
  DeepFm(Context& ctx, int64_t in, const std::vector<int64_t>& sizes, MlpOptions options = {});

  Variable Forward(Context& ctx, const std::vector<Variable>& inputs) const;  // -> [B, last size]
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  Mlp dense_module_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_LAYERS_FACTORIZATION_MACHINE_H_
