// The dense products of a linear layer, against the portable product of a CPU.
#include <algorithm>
#include <memory>
#include <vector>

#include "bench/harness/machine_axes.h"
#include "bench/lab/cuda/device_bytes.h"
#include "bench/lab/cuda/lab_kinds.h"
#include "bench/lab/product_check.h"
#include "bench/lab/product_factors.h"
#include "runtime/context.h"
#include "runtime/device/dispatch.h"

namespace tessera::bench {
namespace {

// Factors of the host once more in the memory of a device.
class DeviceFactors {
 public:
  DeviceFactors(Context& ctx, Factors& host)
      : ctx_(ctx), host_(host), a_(ctx, host.a()), b_(ctx, host.b()), c_(ctx, host.c()) {}

  ProductArgs Args() const {
    ProductArgs args = host_.args();
    args.a = a_.as<const float>();
    args.b = b_.as<const float>();
    args.c = c_.as<float>();
    return args;
  }
  void RunAndCheck(const CudaProduct& run, const ExpectedProduct& expected, bool other_sums) {
    const ProductArgs host = host_.Args();  // nothing is in C
    c_.Send();
    run(ctx_, Args());
    c_.CopyBack();
    expected.Check(host, other_sums);
    host_.CheckGuards();
  }

 private:
  Context& ctx_;
  Factors& host_;
  DeviceBytes a_, b_, c_;
};

void Ours(Context& ctx, const ProductArgs& args) {
  OnlyOnCuda(ctx.device(), [&](auto on) { internal::RunGemm(on, ctx, ProblemOf(args)); });
}

class ProductCase {
 public:
  ProductCase(Context& ctx, const Point& point)
      : cpu_(HostContext(point)), ctx_(ctx), host_(FactorsOf(point)), factors_(ctx, host_) {}

  void Check(const CudaProduct& run, bool other_sums) {
    if (hard_.empty()) hard_ = HardProducts();
    for (auto& [factors, expected] : hard_)
      DeviceFactors(ctx_, factors).RunAndCheck(run, expected, other_sums);
    const ExpectedProduct expected(cpu_, host_.args(), PortableProduct);
    factors_.RunAndCheck(run, expected, other_sums);
  }
  void Run(const CudaProduct& run) { run(ctx_, factors_.Args()); }
  void Count(LabCase& made) const {
    const ProductArgs& p = host_.args();
    made.bytes = made.least_bytes = BytesOf(p);
    made.operations = 2.0 * static_cast<double>(p.m * p.n * p.k);
    made.tolerance = ProductTolerance(p.k);
  }

 private:
  Context cpu_;
  Context& ctx_;
  Factors host_;
  DeviceFactors factors_;
  std::vector<HardProduct> hard_;
};

LabCase MakeProduct(Context& ctx, const CudaVariant&, const Point& point) {
  return MakeCase(std::make_shared<ProductCase>(ctx, point), CudaProduct(Ours));
}

}  // namespace

LabKind ProductKind() {
  std::vector<Axis> axes = ProductAxes();
  for (Axis& axis : MachineAxes()) axes.push_back(std::move(axis));
  return {"product",
          AxesOnGpu(std::move(axes), {{"in", "96"}, {"out", "64"}, {"batch", "80"}}),
          {{"in", "512"}, {"out", "256"}, {"batch", "32768"}},
          MakeProduct};
}

}  // namespace tessera::bench
