#ifndef TESSERA_EMBEDDING_LOOKUP_LOOKUP_H_
#define TESSERA_EMBEDDING_LOOKUP_LOOKUP_H_
// The table-batched forward: rows of many tables, pooled, in one call.
//
// Feature f reads the bags [first_bag, first_bag + num_bags) of `offsets`; bag b holds
// ids[offsets[b] … offsets[b + 1]) and
//   SUM   output row b  = Σ_i p_i · row(id_i)          (p_i = 1 without weights)
//   MEAN  output row b  = that / L, L the number of ids in the bag
//   NONE  output row j  = row(id_j), j counted from the feature's first id; weights are not taken
// Empty bags give 0. Ids that name no row add nothing (NONE: a row of zeros). Features may share a
// table, have dims and batches of their own, and be any number. Rows and output are f32, f16 or
// bf16, each feature's as it likes: rows are widened to f32, products and sums are f32, and a sum
// is rounded once, to nearest (ties to even), when it is stored.
#include <cstdint>
#include <span>

#include "embedding/config/pooling.h"
#include "embedding/lookup/row_ops.h"
#include "runtime/numbers/dtype.h"

namespace tessera {

class Context;

struct LookupFeature {
  const void* rows = nullptr;  // [num_rows, dim] of row_type, row-major
  DType row_type = DType::kF32;
  int64_t num_rows = 0, dim = 0;
  IndexArray ids;  // of the whole KJT
  int64_t first_bag = 0, num_bags = 0;
  PoolingType pooling = PoolingType::kSum;
  void* output = nullptr;  // row j lies output_stride elements of output_type after row j − 1
  DType output_type = DType::kF32;
  int64_t output_stride = 0;

  // Row `id`. REQUIRES: Row is the C++ type of row_type.
  template <typename Row>
  TESSERA_HD const Row* RowAt(int64_t id) const {
    return static_cast<const Row*>(rows) + id * dim;
  }
  // Row j of the output, or of the gradient that a backward has in its place. REQUIRES: Out is the
  // C++ type of output_type.
  template <typename Out>
  TESSERA_HD Out* OutputAt(int64_t j) const {
    return static_cast<Out*>(output) + j * output_stride;
  }
};

struct LookupArgs {
  std::span<const LookupFeature> features;
  IndexArray offsets;
  const float* weights = nullptr;  // one an id, or null
  int64_t num_ids = 0;             // of the whole KJT
};

// Fills every feature's output. The caller has checked the offsets (0 ≤ rising ≤ number of ids).
// Bits do not depend on threads or instruction set.
void Lookup(Context& ctx, const LookupArgs& args);

// For each id of the features listed: ⟨grad of its bag, its row⟩, d loss / d per-sample weight,
// summed in lane order in double and rounded once (then ·1/L under MEAN); 0 for ids that name no
// row. A feature's output is the gradient of its pooled rows; output_type, which is the same for
// all features, is f32, f16 or bf16. grad_weights has one float an id of the KJT; ids of features
// not listed are left alone.
void LookupWeightGradients(Context& ctx, const LookupArgs& args, float* grad_weights);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_LOOKUP_LOOKUP_H_
