#include "bench/lab/cuda/lab_case.h"

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <type_traits>
#include <vector>

#include "bench/embedding/lookup_check.h"
#include "bench/embedding/shape_axes.h"
#include "bench/embedding/workload.h"
#include "bench/harness/machine_axes.h"
#include "bench/lab/cuda/device_batch.h"
#include "bench/lab/hard_batch.h"
#include "quant/row_codec.h"
#include "runtime/base/check.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

constexpr uint32_t kSeed = 11;
constexpr int kSteps = 3;

ContextOptions HostContext(const Point& point) { return {.threads = 1, .seed = SeedOf(point)}; }

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

std::span<char> OutputsOf(const LookupArgs& args) {
  const LookupFeature& f = args.features[0];
  const int64_t outputs =
      f.pooling == PoolingType::kNone ? args.num_ids : std::ssize(args.features) * f.num_bags;
  return {static_cast<char*>(f.output),
          static_cast<size_t>(outputs * f.dim * SizeOf(f.output_type))};
}

template <typename Rows>
class LookupCase {
 public:
  using Args = decltype(Rows::args);
  using Function = std::function<void(Context&, const Args&)>;

  LookupCase(Context& ctx, const Point& point, const Shape& shape)
      : cpu_(HostContext(point)),
        ctx_(ctx),
        point_(point),
        shape_(shape),
        work_(cpu_, shape, 0, 0),
        rows_(cpu_, work_.Lookup(0, false), point),
        batch_(ctx, rows_.args, OutputsOf(rows_.reference)) {}

  void Check(const Function& run) {
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

// ---- updates

AnyRule RuleOf(const Point& point) {
  if (point.Text("rule") == "sgd") return Sgd{.lr = 0.1f};
  return RowwiseAdagrad{.lr = 0.1f};
}

// Tables of the host once more in the memory of a device.
class DeviceTables {
 public:
  DeviceTables(Context& ctx, const std::vector<UpdateTable>& host) : ctx_(ctx), tables_(host) {
    for (UpdateTable& t : tables_) {
      t.weights = Copy(t, "weights", t.weights, t.dim * SizeOf(t.row_type));
      for (void*& state : t.states) state = Copy(t, "state", state, sizeof(float));
    }
  }
  const std::vector<UpdateTable>& tables() const { return tables_; }
  // Throws Error, naming the first row that differs from the host's as it is now.
  void Check() const {
    for (const Part& part : parts_) {
      const Tensor back = part.copy.To(ctx_, Device::Cpu());
      const auto *ours = static_cast<const char*>(part.host),
                 *theirs = static_cast<const char*>(back.raw_data());
      const auto at = std::mismatch(ours, ours + back.nbytes(), theirs).first - ours;
      TESSERA_CHECK(at == back.nbytes(), "table {}: the {} of row {}: not the bits of the CPU",
                    part.table, part.what, at / part.row_bytes);
    }
  }

 private:
  struct Part {
    const char* what;
    int64_t table;
    const void* host;
    Tensor copy;
    int64_t row_bytes;
  };
  void* Copy(const UpdateTable& t, const char* what, void* host, int64_t row_bytes) {
    const Tensor copy = Bytes(host, t.num_rows * row_bytes).Clone(ctx_);
    parts_.push_back({what, &t - tables_.data(), host, copy, row_bytes});
    return copy.raw_data();
  }

  Context& ctx_;
  std::vector<UpdateTable> tables_;
  std::vector<Part> parts_;
};

class UpdateCase {
 public:
  UpdateCase(Context& ctx, const Point& point, const Shape& shape)
      : cpu_(HostContext(point)),
        ctx_(ctx),
        shape_(shape),
        rule_(RuleOf(point)),
        work_(cpu_, shape, 0, 1),
        tables_(ctx, work_.Tables(rule_)),
        batch_(ctx, work_.Lookup(0, true), OutputsOf(work_.Lookup(0, true))) {}

  void Check(const CudaUpdate& run) {
    HardBatch hard(shape_, kSeed);
    const LookupArgs gradient = hard.Gradient();
    const DeviceBatch<LookupArgs> on_device(ctx_, gradient, hard.gradient());
    RunAndCheck(run, hard.Tables(rule_), gradient, on_device.args());
    RunAndCheck(run, work_.Tables(rule_), work_.Lookup(0, true), batch_.args());
  }
  void Run(const CudaUpdate& run) { run(ctx_, {batch_.args(), tables_.tables(), 1}); }
  void Count(LabCase& made) { made.bytes = made.least_bytes = work_.UpdateBytes(rule_); }

 private:
  // A few steps on the CPU, and from the same tables on the device.
  void RunAndCheck(const CudaUpdate& run, const std::vector<UpdateTable>& host,
                   const LookupArgs& host_gradient, const LookupArgs& gradient) {
    const DeviceTables tables(ctx_, host);
    for (int step = 1; step <= kSteps; ++step) {
      Update(cpu_, {host_gradient, host, step});
      run(ctx_, {gradient, tables.tables(), step});
    }
    tables.Check();
  }

  Context cpu_;
  Context& ctx_;
  Shape shape_;
  AnyRule rule_;
  Workload work_;
  DeviceTables tables_;
  DeviceBatch<LookupArgs> batch_;
};

template <typename Case, typename Function>
LabCase Make(Context& ctx, const Point& point, const Shape& shape, const Function& ours) {
  const auto own = std::make_shared<Case>(ctx, point, shape);
  LabCase made;
  made.ours = ours;
  made.check = [own](const CudaKernel& kernel) { own->Check(std::get<Function>(kernel)); };
  made.run = [own](const CudaKernel& kernel) { own->Run(std::get<Function>(kernel)); };
  own->Count(made);
  return made;
}

}  // namespace

std::vector<Axis> LabCaseAxes() {
  std::vector<Axis> axes = ShapeAxes({.outputs = true}, false);
  std::erase_if(axes, [](const Axis& axis) { return axis.name == "isa" || axis.name == "pin"; });
  const std::vector<std::pair<std::string, std::string>> small = {
      {"rows", "4k"}, {"tables", "2"}, {"batch", "64"}};
  for (Axis& axis : axes)
    for (const auto& [name, value] : small)
      if (axis.name == name) axis.values = {value};
  return axes;
}

LabCase MakeLabCase(Context& ctx, const CudaVariant& variant, const Point& point) {
  const Shape shape = ShapeOf(point);
  Takes takes = variant.takes;
  takes.any_codec = true;  // its parameter says which
  const std::string not_taken = NotTaken(takes, point);
  TESSERA_CHECK(not_taken.empty(), "variant {} does not take {}", variant.name, not_taken);
  const CudaKernel kernel = variant.At(point);
  if (std::holds_alternative<CudaLookup>(kernel))
    return Make<LookupCase<PlainRows>, CudaLookup>(ctx, point, shape, Lookup);
  if (std::holds_alternative<CudaQuantizedLookup>(kernel))
    return Make<LookupCase<StoredRows>, CudaQuantizedLookup>(ctx, point, shape, QuantizedLookup);
  TESSERA_CHECK(std::holds_alternative<CudaUpdate>(kernel), "variant {} has no function",
                variant.name);
  return Make<UpdateCase, CudaUpdate>(ctx, point, shape, Update);
}

}  // namespace tessera::bench
