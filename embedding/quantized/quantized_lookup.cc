#include "embedding/quantized/quantized_lookup.h"

#include "embedding/quantized/quantized_lookup_impl.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/device/dispatch.h"

namespace tessera {
namespace {

void CheckOutput(const QuantizedLookupFeature& f, size_t index) {
  if (f.output_type != DType::kU8) {
    TESSERA_CHECK(f.output_type == DType::kF32 || f.output_type == DType::kF16 ||
                      f.output_type == DType::kBF16,
                  "quantized lookup, feature {}: output of type {}; expected f32, f16, bf16 or u8",
                  index, f.output_type);
    TESSERA_CHECK_GE(f.output_stride, f.dim, "quantized lookup, feature {}: output stride", index);
    return;
  }
  TESSERA_CHECK(f.pooling == PoolingType::kNone,
                "quantized lookup, feature {}: u8 output is for pooling NONE, not {}", index,
                f.pooling);
  TESSERA_CHECK(f.layout.reading == RowReading::kAffine8,
                "quantized lookup, feature {}: u8 output is of int8 rows alone", index);
  TESSERA_CHECK_GE(f.output_stride, f.layout.used_bytes,
                   "quantized lookup, feature {}: output stride", index);
}

void CheckFeature(const QuantizedLookupFeature& f, size_t index, bool weighted) {
  TESSERA_CHECK_GE(f.num_rows, 0, "quantized lookup, feature {}: rows", index);
  TESSERA_CHECK_GE(f.dim, 1, "quantized lookup, feature {}: dim", index);
  TESSERA_CHECK_GE(f.layout.row_bytes, 1, "quantized lookup, feature {}: bytes of a row", index);
  CheckOutput(f, index);
  TESSERA_CHECK(f.pooling != PoolingType::kNone || !weighted,
                "quantized lookup, feature {}: pooling NONE takes no weights", index);
}

}  // namespace

void QuantizedLookup(Context& ctx, const QuantizedLookupArgs& args) {
  for (size_t i = 0; i < args.features.size(); ++i)
    CheckFeature(args.features[i], i, args.weights != nullptr);
  DispatchDevice(ctx.device(), [&](auto on) { internal::QuantizedLookup(on, ctx, args); });
}

}  // namespace tessera
