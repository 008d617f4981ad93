#ifndef TESSERA_EMBEDDING_TABLE_ROW_INIT_H_
#define TESSERA_EMBEDDING_TABLE_ROW_INIT_H_
// First values of a new table's rows: fillers for BaseEmbeddingConfig::init_fn. Each fills a weight
// [E, D] of f32 with one sequence of the context's random numbers, the same on every device.
#include <functional>

#include "runtime/tensor.h"

namespace tessera {

using RowInit = std::function<void(Context&, const Tensor&)>;

RowInit ConstantRows(float value);
// In [low, high).
RowInit UniformRows(float low, float high);
// Normally distributed.
RowInit NormalRows(float mean, float stddev);
// Uniform in ± gain·√(6/(E + D)), and normal with deviation gain·√(2/(E + D)) (Glorot and Bengio,
// 2010; as torch.nn.init on a weight [E, D]).
RowInit XavierUniformRows(float gain = 1);
RowInit XavierNormalRows(float gain = 1);
// Uniform in ± √(6/((1 + a²)·D)), and normal with deviation √(2/((1 + a²)·D)) (He et al., 2015; a
// is the slope of a leaky ReLU below 0).
RowInit KaimingUniformRows(float a = 0);
RowInit KaimingNormalRows(float a = 0);
// fn(row, column), called on the host in the order of the elements.
RowInit RowsFrom(std::function<float(int64_t row, int64_t column)> fn);

// Fills `tensor` (f32) with mean + stddev·z, z normally distributed: Marsaglia's polar method on
// one new sequence of ctx.random(), with logarithm and root of runtime/numbers/math.h. REQUIRES:
// contiguous.
void FillNormal(Context& ctx, const Tensor& tensor, float mean, float stddev);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_TABLE_ROW_INIT_H_
