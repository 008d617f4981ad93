#ifndef TESSERA_EMBEDDING_QUANTIZED_QUANTIZED_LOOKUP_IMPL_H_
#define TESSERA_EMBEDDING_QUANTIZED_QUANTIZED_LOOKUP_IMPL_H_
// The quantized lookup on each device, and for each instruction set of a CPU
// (quantized_lookup_simd.cc).
#include "embedding/quantized/quantized_lookup.h"
#include "runtime/base/isa.h"
#include "runtime/device/device.h"

namespace tessera::internal {

void QuantizedLookup(OnCpu, Context& ctx, const QuantizedLookupArgs& args);
void QuantizedLookup(OnCuda, Context& ctx, const QuantizedLookupArgs& args);

// Bags [begin, end) of one feature, counted from its first.
struct QuantizedPiece {
  const QuantizedLookupFeature* feature;
  IndexArray offsets;
  const float* weights;
  int64_t begin, end;
  bool stream;  // write past the caches
};

#define TESSERA_DECLARE_QUANTIZED_LOOKUP_(isa)           \
  namespace isa {                                        \
  void QuantizedLookupBags(const QuantizedPiece& piece); \
  void QuantizedLookupRows(const QuantizedPiece& piece); \
  }
TESSERA_FOR_EACH_ISA(TESSERA_DECLARE_QUANTIZED_LOOKUP_)
#undef TESSERA_DECLARE_QUANTIZED_LOOKUP_

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_QUANTIZED_QUANTIZED_LOOKUP_IMPL_H_
