#ifndef TESSERA_EMBEDDING_QUANTIZED_QUANTIZED_LOOKUP_H_
#define TESSERA_EMBEDDING_QUANTIZED_QUANTIZED_LOOKUP_H_
// The lookup (embedding/lookup/lookup.h) from stored rows of any codecs (quant/row_codec.h), many
// tables of any mix of codecs in one call.
//
// Bags, pooling, weights and outputs are the lookup's, and so are the bits: those of a lookup from
// the same rows decoded to f32. With pooling NONE and int8 rows the output may also be the stored
// rows themselves, u8, without their padding; ids that name no row give zeros.
#include <span>

#include "embedding/lookup/lookup.h"
#include "quant/row_layout.h"
#include "runtime/context.h"

namespace tessera {

// `rows`: the stored rows, u8 [num_rows, layout.row_bytes]. `row_type` is not looked at.
// output_type: f32, f16, bf16; u8 for stored rows, whose output_stride is in bytes.
struct QuantizedLookupFeature : LookupFeature {
  RowLayout layout;  // LayoutOf(codec, dim)
};

struct QuantizedLookupArgs {
  std::span<const QuantizedLookupFeature> features;
  IndexArray offsets;
  const float* weights = nullptr;  // one an id, or null
  int64_t num_ids = 0;             // of the whole KJT
};

// Fills every feature's output. The caller has checked the offsets. Throws Error for weights with
// pooling NONE, and for u8 outputs of pooled bags or of rows that are not int8.
void QuantizedLookup(Context& ctx, const QuantizedLookupArgs& args);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_QUANTIZED_QUANTIZED_LOOKUP_H_
