// Updates of the rows that a batch names, against the CPU's, step after step.
#include <memory>
#include <vector>

#include "bench/embedding/shape_axes.h"
#include "bench/embedding/workload.h"
#include "bench/lab/cuda/device_batch.h"
#include "bench/lab/cuda/lab_kinds.h"
#include "bench/lab/hard_batch.h"
#include "bench/lab/row_check.h"
#include "runtime/base/check.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

constexpr uint32_t kSeed = 11;
constexpr int kSteps = 3;

AnyRule RuleOf(const Point& point) {
  if (point.Text("rule") == "sgd") return Sgd{.lr = 0.1f};
  return RowwiseAdagrad{.lr = 0.1f};
}

// Tables of the host once more in the memory of a device.
class DeviceTables {
 public:
  DeviceTables(Context& ctx, const std::vector<UpdateTable>& host) : ctx_(ctx), tables_(host) {
    for (UpdateTable& t : tables_) {
      t.weights = Copy(t, "the weights", t.weights, {t.row_type, t.dim, t.num_rows});
      for (void*& state : t.states)
        state = Copy(t, "the state", state, {t.state_type, 1, t.num_rows});
    }
  }
  const std::vector<UpdateTable>& tables() const { return tables_; }
  // Throws Error where a row differs from the host's as it is now (CheckRows).
  void Check() const {
    for (const Part& part : parts_) {
      const Tensor back = part.copy.To(ctx_, Device::Cpu());
      CheckRows(Format("table {}: {}", part.table, part.what), part.rows, part.host,
                back.raw_data());
    }
  }

 private:
  struct Part {
    const char* what;
    int64_t table;
    const void* host;
    Tensor copy;
    RowsAt rows;
  };
  void* Copy(const UpdateTable& t, const char* what, void* host, const RowsAt& rows) {
    const Tensor copy = Bytes(host, rows.count * rows.columns * SizeOf(rows.type)).Clone(ctx_);
    parts_.push_back({what, &t - tables_.data(), host, copy, rows});
    return copy.raw_data();
  }

  Context& ctx_;
  std::vector<UpdateTable> tables_;
  std::vector<Part> parts_;
};

class UpdateCase {
 public:
  UpdateCase(Context& ctx, const Point& point)
      : cpu_(HostContext(point)),
        ctx_(ctx),
        shape_(ShapeOf(point)),
        rule_(RuleOf(point)),
        work_(cpu_, shape_, 0, 1),
        tables_(ctx, work_.Tables(rule_)),
        batch_(ctx, work_.Lookup(0, true), OutputsOf(work_.Lookup(0, true))) {}

  void Check(const CudaUpdate& run, bool) {
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
    ctx_.Sync();
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

LabCase MakeUpdate(Context& ctx, const CudaVariant& variant, const Point& point) {
  TESSERA_CHECK(point.Has("rule"), "variant {}: an update has the parameter \"rule\"",
                variant.name);
  return MakeCase(std::make_shared<UpdateCase>(ctx, point), CudaUpdate(Update));
}

}  // namespace

LabKind UpdateKind() {
  return {"update", AxesOnGpu(ShapeAxes({.states = true}, /*files=*/false), kSmallTables),
          kLargeTables, MakeUpdate};
}

}  // namespace tessera::bench
