#ifndef TESSERA_EMBEDDING_LOOKUP_H_
#define TESSERA_EMBEDDING_LOOKUP_H_
// The table-batched forward: rows of many tables, pooled, in one call.
//
// Feature f reads the bags [first_bag, first_bag + num_bags) of `offsets`; bag b holds
// ids[offsets[b] … offsets[b + 1]) and
//   SUM   output row b  = Σ_i p_i · row(id_i)          (p_i = 1 without weights)
//   MEAN  output row b  = that / L, L the number of ids in the bag
//   NONE  output row j  = row(id_j), j counted from the feature's first id; weights are not taken
// Empty bags give 0. Ids that name no row add nothing (NONE: a row of zeros). Features may share a
// table, have dims of their own, and be any number. f32 rows and output.
#include <cstdint>
#include <span>

#include "embedding/pooling.h"
#include "embedding/row_ops.h"

namespace tessera {

class Context;

struct LookupFeature {
  const float* rows = nullptr;  // [num_rows, dim], row-major
  int64_t num_rows = 0, dim = 0;
  IndexArray ids;  // of the whole KJT
  int64_t first_bag = 0, num_bags = 0;
  PoolingType pooling = PoolingType::kSum;
  float* output = nullptr;  // row j lies at output + j·output_stride
  int64_t output_stride = 0;
};

struct LookupArgs {
  std::span<const LookupFeature> features;
  IndexArray offsets;
  const float* weights = nullptr;  // one an id, or null
};

// Fills every feature's output. The caller has checked the offsets (0 ≤ rising ≤ number of ids).
// Bits do not depend on threads or instruction set.
void Lookup(Context& ctx, const LookupArgs& args);

// For each id of the features listed: ⟨grad of its bag, its row⟩ (·1/L under MEAN), d loss / d
// per-sample weight, summed in lane order; 0 for ids that name no row. A feature's output and
// output_stride are those of the gradient of its pooled rows. grad_weights has one float an id of
// the KJT; ids of features not listed are left alone.
void LookupWeightGradients(Context& ctx, const LookupArgs& args, float* grad_weights);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_LOOKUP_H_
