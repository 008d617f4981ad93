#include "embedding/lookup/lookup.h"

#include "embedding/lookup/lookup_impl.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/device/dispatch.h"

namespace tessera {
namespace {

void CheckRowType(DType dtype, const char* what, size_t index) {
  TESSERA_CHECK(dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16,
                "lookup, feature {}: {} of type {}; expected f32, f16 or bf16", index, what, dtype);
}

void CheckFeature(const LookupFeature& f, size_t index, bool weighted) {
  TESSERA_CHECK_GE(f.dim, 1, "lookup, feature {}: dim", index);
  TESSERA_CHECK_GE(f.num_rows, 0, "lookup, feature {}: rows", index);
  CheckRowType(f.row_type, "rows", index);
  CheckRowType(f.output_type, "output", index);
  TESSERA_CHECK_GE(f.output_stride, f.dim, "lookup, feature {}: output stride", index);
  TESSERA_CHECK(f.pooling != PoolingType::kNone || !weighted,
                "lookup, feature {}: pooling NONE takes no weights", index);
}

}  // namespace

void Lookup(Context& ctx, const LookupArgs& args) {
  for (size_t i = 0; i < args.features.size(); ++i)
    CheckFeature(args.features[i], i, args.weights != nullptr);
  DispatchDevice(ctx.device(), [&](auto on) { internal::Lookup(on, ctx, args); });
}

void LookupWeightGradients(Context& ctx, const LookupArgs& args, float* grad_weights) {
  for (size_t i = 0; i < args.features.size(); ++i) {
    CheckFeature(args.features[i], i, /*weighted=*/true);
    TESSERA_CHECK_EQ(args.features[i].output_type, args.features[0].output_type,
                     "weight gradients: type of the gradient of feature {}, beside feature 0's", i);
  }
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::LookupWeightGradients(on, ctx, args, grad_weights); });
}

}  // namespace tessera
