// Splits the bags of all features over threads and calls the instruction set's loops.
#include <algorithm>
#include <vector>

#include "embedding/lookup_impl.h"
#include "runtime/context.h"
#include "runtime/isa.h"

namespace tessera::internal {
namespace {

// Bytes of rows that one piece reads: some 100 us of work.
constexpr int64_t kPieceBytes = 1 << 20;
// Below this all is done by the calling thread: waking another costs more.
constexpr int64_t kSerialBytes = 1 << 17;
// Outputs larger than this leave the second-level cache before anybody reads them: they are written
// past it.
constexpr int64_t kStreamBytes = 4 << 20;

struct Plan {
  std::vector<LookupPiece> pieces;
  int64_t bytes = 0;
};

Plan MakePlan(const LookupArgs& args, float* grad_weights) {
  Plan plan;
  int64_t output_bytes = 0;
  for (const LookupFeature& f : args.features) {
    const int64_t ids = args.offsets[f.first_bag + f.num_bags] - args.offsets[f.first_bag];
    const int64_t rows_out = f.pooling == PoolingType::kNone ? ids : f.num_bags;
    const int64_t written = rows_out * f.dim * SizeOf(f.output_type),
                  bytes = ids * f.dim * SizeOf(f.row_type) + written;
    output_bytes += written;
    plan.bytes += bytes;
    const int64_t count =
        std::clamp<int64_t>(bytes / kPieceBytes, 1, std::max<int64_t>(f.num_bags, 1));
    for (int64_t k = 0; k < count; ++k) {
      const int64_t begin = f.num_bags * k / count, end = f.num_bags * (k + 1) / count;
      if (begin < end)
        plan.pieces.push_back({&f, args.offsets, args.weights, begin, end, false, grad_weights});
    }
  }
  for (LookupPiece& piece : plan.pieces) piece.stream = output_bytes > kStreamBytes;
  return plan;
}

template <typename Fn>
void RunPieces(Context& ctx, const Plan& plan, Fn&& fn) {
  const int64_t n = static_cast<int64_t>(plan.pieces.size());
  ParallelFor(ctx, n, plan.bytes < kSerialBytes ? n : 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) fn(plan.pieces[static_cast<size_t>(i)]);
  });
}

}  // namespace

void Lookup(OnCpu, Context& ctx, const LookupArgs& args) {
  const IsaLevel isa = SparseIsa();
  RunPieces(ctx, MakePlan(args, nullptr), [&](const LookupPiece& piece) {
    if (piece.feature->pooling == PoolingType::kNone)
      TESSERA_CALL_ISA(isa, LookupRows, piece);
    else
      TESSERA_CALL_ISA(isa, LookupBags, piece);
  });
}

void LookupWeightGradients(OnCpu, Context& ctx, const LookupArgs& args, float* grad_weights) {
  const IsaLevel isa = SparseIsa();
  RunPieces(ctx, MakePlan(args, grad_weights),
            [&](const LookupPiece& piece) { TESSERA_CALL_ISA(isa, LookupWeightGradients, piece); });
}

}  // namespace tessera::internal
