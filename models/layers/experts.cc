#include "models/layers/experts.h"

#include "runtime/ops/matmul.h"
#include "runtime/ops/shaping.h"
#include "runtime/ops/softmax.h"

namespace tessera {

Experts::Experts(Context& ctx, int64_t count, int64_t in, const std::vector<int64_t>& sizes) {
  for (int64_t e = 0; e < count; ++e) experts_.emplace_back(ctx, in, sizes);
}

void Experts::Forward(Context& ctx, const Variable& x, std::vector<Variable>& outputs) const {
  for (const Mlp& expert : experts_) outputs.push_back(expert.Forward(ctx, x));
}

void Experts::AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  for (size_t e = 0; e < experts_.size(); ++e)
    experts_[e].AppendParameters(Format("{}{}.model.", prefix, e), out);
}

Variable Gate::Forward(Context& ctx, const Variable& x,
                       const std::vector<Variable>& experts) const {
  const int64_t batch = x.dim(0), count = std::ssize(experts), size = experts.front().dim(1);
  const Variable p = Softmax(ctx, linear_.Forward(ctx, x));
  const Variable mean = BatchMatMul(ctx, Reshape(ctx, p, {batch, 1, count}),
                                    Reshape(ctx, Concat(ctx, experts, 1), {batch, count, size}));
  return Reshape(ctx, mean, {batch, size});
}

}  // namespace tessera
