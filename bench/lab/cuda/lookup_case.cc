// Lookups from rows of f32 or 16 bits and from stored rows, against the obvious loop over the same
// rows, or over what they decode to.
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "bench/embedding/lookup_check.h"
#include "bench/embedding/shape_axes.h"
#include "bench/embedding/workload.h"
#include "bench/lab/cuda/device_batch.h"
#include "bench/lab/cuda/lab_kinds.h"
#include "bench/lab/hard_batch.h"
#include "quant/row_codec.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

constexpr uint32_t kSeed = 11;

// ---- what a kernel reads, of rows of f32 or 16 bits, and the same for the obvious loop

struct PlainRows {
  PlainRows(Context& /*cpu*/, const LookupArgs& host, const Point& /*point*/)
      : args(host), reference(host) {}
  LookupArgs args, reference;
};

// Rows are stored as the point's codec says; the loop reads what they decode to.
struct StoredRows {
  StoredRows(Context& cpu, const LookupArgs& host, const Point& point)
      : decoded_features(host.features.begin(), host.features.end()) {
    const RowCodec codec = ParseRowCodec(point.Text("codec"));
    for (LookupFeature& f : decoded_features) {
      const Tensor rows =
          Tensor::Borrow(const_cast<void*>(f.rows), {f.num_rows, f.dim}, f.row_type);
      encoded.push_back(EncodeRows(cpu, codec, rows));
      decoded.push_back(DecodeRows(cpu, codec, encoded.back(), f.dim));
      features.push_back({f, LayoutOf(codec, f.dim)});
      features.back().rows = encoded.back().raw_data();
      f.rows = decoded.back().raw_data();
    }
    args = {features, host.offsets, host.weights, host.num_ids};
    reference = host;
    reference.features = decoded_features;
  }
  StoredRows(const StoredRows&) = delete;

  std::vector<Tensor> encoded, decoded;
  std::vector<LookupFeature> decoded_features;
  std::vector<QuantizedLookupFeature> features;
  QuantizedLookupArgs args;
  LookupArgs reference;
};

int64_t RowBytesOf(const LookupFeature& f) { return f.dim * SizeOf(f.row_type); }
int64_t RowBytesOf(const QuantizedLookupFeature& f) { return f.layout.used_bytes; }

template <typename Args>
void CountBytes(const Args& args, std::span<const char> outputs, LabCase& made) {
  made.least_bytes = made.bytes = static_cast<double>(outputs.size()) + 8.0 * args.num_ids;
  for (const auto& f : args.features) {
    const auto* ids = static_cast<const int64_t*>(f.ids.data);
    const int64_t begin = args.offsets[f.first_bag], end = args.offsets[f.first_bag + f.num_bags];
    const std::set<int64_t> distinct(ids + begin, ids + end);
    made.bytes += static_cast<double>((end - begin) * RowBytesOf(f));
    made.least_bytes += static_cast<double>(std::ssize(distinct) * RowBytesOf(f));
  }
}

// ---- lookups

template <typename Rows>
class LookupCase {
 public:
  using Args = decltype(Rows::args);
  using Function = std::function<void(Context&, const Args&)>;

  LookupCase(Context& ctx, const Point& point)
      : cpu_(HostContext(point)),
        ctx_(ctx),
        point_(point),
        shape_(ShapeOf(point)),
        work_(cpu_, shape_, 0, 0),
        rows_(cpu_, work_.Lookup(0, false), point),
        batch_(ctx, rows_.args, OutputsOf(rows_.reference)) {}

  void Check(const Function& run, bool) {
    HardBatch hard(shape_, kSeed);
    const Rows rows(cpu_, hard.Lookup(), point_);
    RunAndCheck(run, rows, DeviceBatch<Args>(ctx_, rows.args, hard.output()));
    hard.CheckGuards();
    work_.ClearOutput();
    RunAndCheck(run, rows_, batch_);
  }
  void Run(const Function& run) { run(ctx_, batch_.args()); }
  void Count(LabCase& made) const { CountBytes(rows_.args, OutputsOf(rows_.reference), made); }

 private:
  void RunAndCheck(const Function& run, const Rows& rows, const DeviceBatch<Args>& batch) {
    batch.SendOutputs();
    run(ctx_, batch.args());
    batch.CopyOutputsBack();
    CheckLookup(rows.reference);
  }

  Context cpu_;
  Context& ctx_;
  Point point_;
  Shape shape_;
  Workload work_;
  Rows rows_;
  DeviceBatch<Args> batch_;
};

LabCase MakeLookup(Context& ctx, const CudaVariant&, const Point& point) {
  return MakeCase(std::make_shared<LookupCase<PlainRows>>(ctx, point), CudaLookup(Lookup));
}

LabCase MakeQuantizedLookup(Context& ctx, const CudaVariant&, const Point& point) {
  return MakeCase(std::make_shared<LookupCase<StoredRows>>(ctx, point),
                  CudaQuantizedLookup(QuantizedLookup));
}

}  // namespace

LabKind LookupKind() {
  return {"lookup", AxesOnGpu(ShapeAxes({.outputs = true}, /*files=*/false), kSmallTables),
          kLargeTables, MakeLookup};
}

LabKind QuantizedLookupKind() {
  return {"quantized lookup",
          AxesOnGpu(ShapeAxes({.rows = false, .outputs = true}, /*files=*/false), kSmallTables),
          kLargeTables, MakeQuantizedLookup};
}

}  // namespace tessera::bench
