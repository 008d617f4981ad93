// Splits the bags of all features over threads and calls the instruction set's loops.
#include "embedding/lookup/bag_pieces.h"
#include "embedding/lookup/lookup_impl.h"
#include "runtime/base/isa.h"
#include "runtime/context.h"

namespace tessera::internal {
namespace {

template <typename Fn>
void ForEachLookupPiece(Context& ctx, const LookupArgs& args, float* grad_weights, const Fn& fn) {
  const BagPieces cut = CutBags(
      args.features, args.offsets,
      [](const LookupFeature& f) { return f.dim * SizeOf(f.row_type); },
      [](const LookupFeature& f) { return f.dim * SizeOf(f.output_type); });
  ForEachPiece(ctx, cut, [&](const BagPiece& p) {
    fn(LookupPiece{&args.features[p.feature], args.offsets, args.weights, p.begin, p.end,
                   cut.stream, grad_weights});
  });
}

}  // namespace

void Lookup(OnCpu, Context& ctx, const LookupArgs& args) {
  const IsaLevel isa = ChosenIsa();
  ForEachLookupPiece(ctx, args, nullptr, [&](const LookupPiece& piece) {
    if (piece.feature->pooling == PoolingType::kNone)
      TESSERA_CALL_ISA(isa, LookupRows, piece);
    else
      TESSERA_CALL_ISA(isa, LookupBags, piece);
  });
}

void LookupWeightGradients(OnCpu, Context& ctx, const LookupArgs& args, float* grad_weights) {
  const IsaLevel isa = ChosenIsa();
  ForEachLookupPiece(ctx, args, grad_weights, [&](const LookupPiece& piece) {
    TESSERA_CALL_ISA(isa, LookupWeightGradients, piece);
  });
}

}  // namespace tessera::internal
