// The dense products of a linear layer: its forward and the two of its backward. A variant has the
// bits of runtime/ops' own products; one with other_sums is within the tolerance of
// product_check.h.
#include "bench/lab/product_kernel.h"

#include "bench/harness/machine_axes.h"
#include "bench/harness/run_bare.h"
#include "bench/lab/kernel.h"
#include "bench/lab/product_factors.h"
#include "bench/limits/fma_loop.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

std::vector<Axis> Axes() {
  std::vector<Axis> axes = ProductAxes();
  for (Axis& axis : MachineAxes()) axes.push_back(std::move(axis));
  return axes;
}

void CheckHard(Context& ctx, std::vector<HardProduct>& all, const KernelFunction<ProductArgs>& run,
               bool other_sums) {
  for (auto& [factors, expected] : all) {
    const ProductArgs args = factors.Args();
    run(ctx, args);
    expected.Check(args, other_sums);
    factors.CheckGuards();
  }
}

void CheckTimed(Context& ctx, Factors& factors, const KernelFunction<ProductArgs>& run,
                bool other_sums) {
  const ProductArgs args = factors.Args();
  const ExpectedProduct expected(ctx, args, PortableProduct);
  run(ctx, args);
  expected.Check(args, other_sums);
}

KernelPoint<ProductArgs> Make(Context& ctx, const Point& point) {
  const auto factors = std::make_shared<Factors>(FactorsOf(point));
  factors->Args();
  const auto hard = std::make_shared<std::vector<HardProduct>>(HardProducts());
  const auto sums =
      std::make_shared<std::vector<float>>(static_cast<size_t>(ctx.threads().threads()));
  const ProductArgs& p = factors->args();
  const int64_t work = p.m * p.n * p.k;
  return {.ours = PortableProduct,
          .args = [factors](int) { return factors->args(); },
          .check_hard = [hard](Context& c, const auto& run,
                               bool other_sums) { CheckHard(c, *hard, run, other_sums); },
          .check_timed = [factors](Context& c, const auto& run,
                                   bool other_sums) { CheckTimed(c, *factors, run, other_sums); },
          .tolerance = ProductTolerance(p.k),
          .limit = {"bare fma",
                    [&ctx, sums, work](int) {
                      RunBare(ctx, FmaLoop::Of(work, std::ssize(*sums), sums->data()));
                    }},
          .bytes = BytesOf(p),
          .items = work,
          .item = "fma"};
}

const RegisterKernel<ProductArgs> kProduct({.name = "product",
                                            .limit = "as many fused multiply-adds in registers",
                                            .axes = Axes,
                                            .make = Make,
                                            .memory = nullptr});

}  // namespace
}  // namespace tessera::bench
