// Lookups from stored rows (embedding/quantized/quantized_lookup.h). A variant has the bits of the
// obvious loop over the same rows decoded to f32, and so has the library's own.
#include "bench/embedding/lookup_check.h"
#include "bench/embedding/shape_axes.h"
#include "bench/harness/run_bare.h"
#include "bench/lab/hard_batch.h"
#include "bench/lab/kernel.h"
#include "bench/quant/stored_tables.h"
#include "embedding/quantized/quantized_lookup.h"
#include "quant/row_codec.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

constexpr uint32_t kSeed = 11;

std::vector<Axis> Axes() {
  std::vector<Axis> axes = ShapeAxes({.rows = false, .outputs = true}, /*files=*/false);
  axes.push_back(
      CodecAxis("how rows are stored: int8, int4, int2, hfp8, e4m3, f16 and others of the "
                "documentation of row codecs"));
  return axes;
}

// A HardBatch whose rows are stored, and decoded again for the check.
class HardStoredBatch {
 public:
  HardStoredBatch(const Shape& shape, const RowCodec& codec)
      : batch_(shape, kSeed), layout_(LayoutOf(codec, shape.dim)) {
    Context ctx({.threads = 1});
    for (const LookupFeature& f : batch_.Lookup().features) {
      const Tensor rows = Tensor::Empty(ctx, {f.num_rows, f.dim});
      std::copy_n(f.RowAt<float>(0), rows.numel(), rows.data<float>());
      stored_.push_back(EncodeRows(ctx, codec, rows));
      decoded_.push_back(DecodeRows(ctx, codec, stored_.back(), f.dim));
    }
  }

  void RunAndCheck(Context& ctx, const KernelFunction<QuantizedLookupArgs>& run) {
    const LookupArgs args = batch_.Lookup();
    std::vector<LookupFeature> decoded(args.features.begin(), args.features.end());
    std::vector<QuantizedLookupFeature> stored;
    for (size_t t = 0; t < decoded.size(); ++t) {
      decoded[t].rows = decoded_[t].data<float>();
      stored.push_back({decoded[t], layout_});
      stored.back().rows = stored_[t].data<uint8_t>();
    }
    run(ctx, {stored, args.offsets, args.weights, args.num_ids});
    CheckLookup({decoded, args.offsets, args.weights, args.num_ids});
    batch_.CheckGuards();
  }

 private:
  HardBatch batch_;
  RowLayout layout_;
  std::vector<Tensor> stored_, decoded_;
};

Contender Limit(Context& ctx, const std::shared_ptr<StoredTables>& tables) {
  if (!tables->HasBare()) return {};
  return {"bare gather", [&ctx, tables](int round) { RunBare(ctx, tables->Bare(round)); }};
}

KernelPoint<QuantizedLookupArgs> Make(Context& ctx, const Point& point) {
  const Shape shape = ShapeOf(point);
  const RowCodec codec = CodecOf(point);
  const auto tables = std::make_shared<StoredTables>(ctx, shape, codec, shape.output_type);
  const auto hard = std::make_shared<HardStoredBatch>(shape, codec);
  return {.ours = [](Context& c, const QuantizedLookupArgs& args) { QuantizedLookup(c, args); },
          .args = [tables](int round) { return tables->Lookup(round); },
          .check_hard = [hard](Context& c, const auto& run, bool) { hard->RunAndCheck(c, run); },
          .check_timed =
              [tables](Context& c, const auto& run, bool) {
                tables->ClearOutput();
                run(c, tables->Lookup(0));
                tables->CheckOutput(c);
              },
          .limit = Limit(ctx, tables),
          .bytes = tables->Bytes(),
          .items = tables->num_ids()};
}

double MemoryOf(const Point& point) {
  const Shape shape = ShapeOf(point);
  const RowCodec codec = CodecOf(point);
  double bytes = 0;
  for (size_t t = 0; t < shape.rows.size(); ++t)
    bytes += static_cast<double>(shape.rows[t] * RowBytes(codec, shape.DimOf(t)));
  return bytes;
}

const RegisterKernel<QuantizedLookupArgs> kQuantized({.name = "quantized",
                                                      .limit = "a bare gather of the same bytes",
                                                      .axes = Axes,
                                                      .make = Make,
                                                      .memory = MemoryOf});

}  // namespace
}  // namespace tessera::bench
