// Splits the bags of all features over threads and calls the instruction set's loops.
#include "embedding/lookup/bag_pieces.h"
#include "embedding/quantized/quantized_lookup_impl.h"
#include "runtime/base/isa.h"
#include "runtime/context.h"

namespace tessera::internal {

void QuantizedLookup(OnCpu, Context& ctx, const QuantizedLookupArgs& args) {
  const IsaLevel isa = ChosenIsa();
  const BagPieces cut = CutBags(
      args.features, args.offsets,
      [](const QuantizedLookupFeature& f) { return f.layout.row_bytes; },
      [](const QuantizedLookupFeature& f) {
        const bool stored = f.output_type == DType::kU8;
        return stored ? f.layout.used_bytes : f.dim * SizeOf(f.output_type);
      });
  ForEachPiece(ctx, cut, [&](const BagPiece& p) {
    const QuantizedPiece piece{
        &args.features[p.feature], args.offsets, args.weights, p.begin, p.end, cut.stream};
    if (piece.feature->pooling == PoolingType::kNone)
      TESSERA_CALL_ISA(isa, QuantizedLookupRows, piece);
    else
      TESSERA_CALL_ISA(isa, QuantizedLookupBags, piece);
  });
}

}  // namespace tessera::internal
