// The dense products of a linear layer: its forward and the two of its backward. A variant has the
// bits of runtime/ops' own products; one with other_sums is within the tolerance of
// product_check.h.
#include "bench/lab/product_kernel.h"

#include <random>

#include "bench/harness/machine_axes.h"
#include "bench/harness/run_bare.h"
#include "bench/lab/bare_fma.h"
#include "bench/lab/guarded_bytes.h"
#include "bench/lab/kernel.h"
#include "bench/lab/product_check.h"
#include "runtime/base/size_limits.h"
#include "runtime/context.h"
#include "runtime/ops/gemm_impl.h"

namespace tessera::bench {
namespace {

constexpr int64_t kFloat = sizeof(float);

// Two factors, whose rows lie `gap` elements apart, and room for their product.
class Factors {
 public:
  Factors(GemmForm form, int64_t m, int64_t n, int64_t k, int64_t gap, uint32_t seed)
      : args_{.form = form, .m = m, .n = n, .k = k} {
    const bool tn = form == GemmForm::kTN, nt = form == GemmForm::kNT;
    args_.lda = (tn ? m : k) + gap;
    args_.ldb = (nt ? k : n) + gap;
    args_.ldc = n + gap;
    std::mt19937 random(seed);
    a_ = Numbers((tn ? k : m) * args_.lda, random);
    b_ = Numbers((nt ? n : k) * args_.ldb, random);
    args_.a = a_.as<float>();
    args_.b = b_.as<float>();
    c_ = GuardedBytes(m * args_.ldc * kFloat);
  }

  // The product, with nothing in C yet.
  ProductArgs Args() {
    c_ = GuardedBytes(c_.size());
    args_.c = c_.as<float>();
    return args_;
  }
  void CheckGuards() const { c_.CheckGuards("C", args_.n * kFloat, args_.ldc * kFloat); }
  // Returns the same again, whatever is in C.
  const ProductArgs& args() const { return args_; }

 private:
  static GuardedBytes Numbers(int64_t count, std::mt19937& random) {
    std::normal_distribution<float> normal;
    GuardedBytes numbers(count * kFloat);
    for (int64_t i = 0; i < count; ++i) numbers.as<float>()[i] = normal(random);
    return numbers;
  }

  ProductArgs args_;
  GuardedBytes a_, b_, c_;
};

// Extents around those of registers, panels and pieces of a sum, in each form.
class HardProducts {
 public:
  HardProducts() {
    struct Extents {
      int64_t m, n, k;
    };
    for (const GemmForm form : {GemmForm::kNN, GemmForm::kNT, GemmForm::kTN})
      for (const Extents& e : {Extents{1, 1, 1},
                               {3, 2, 0},
                               {1, 5, 128},
                               {7, 67, 129},
                               {83, 3, 300},
                               {17, 49, 1000},
                               {130, 70, 257}}) {
        factors_.emplace_back(form, e.m, e.n, e.k, /*gap=*/3, /*seed=*/11);
        expected_.emplace_back(factors_.back().Args());
      }
  }

  void RunAndCheck(Context& ctx, const KernelFunction<ProductArgs>& run, bool other_sums) {
    for (size_t i = 0; i < factors_.size(); ++i) {
      const ProductArgs args = factors_[i].Args();
      run(ctx, args);
      expected_[i].Check(args, other_sums);
      factors_[i].CheckGuards();
    }
  }

 private:
  std::vector<Factors> factors_;
  std::vector<ExpectedProduct> expected_;
};

void Ours(Context& ctx, const ProductArgs& p) {
  internal::GemmProblem problem;
  problem.form = p.form;
  problem.first = {p.a, p.b, p.c, p.m, p.n, p.k, p.lda, p.ldb, p.ldc};
  internal::RunPortableGemm(ctx, problem);
}

std::vector<Axis> Axes() {
  std::vector<Axis> axes = {
      {"product",
       {"forward"},
       "of a layer W[out, in] and a batch: forward: X[batch, in]·Wᵀ; inputs: dY[batch, out]·W; "
       "weights: dYᵀ·X",
       OneOf({"forward", "inputs", "weights"})},
      {"in", {"512"}, "inputs of the layer", WholeFrom(1, 1 << 16)},
      {"out", {"256"}, "outputs of the layer", WholeFrom(1, 1 << 16)},
      {"batch", {"4096"}, "bags of each feature; rows of X", WholeFrom(1, SizeLimits::kBatch)}};
  for (Axis& axis : MachineAxes()) axes.push_back(std::move(axis));
  return axes;
}

std::shared_ptr<Factors> FactorsOf(const Point& point) {
  const int64_t batch = point.Int("batch"), in = point.Int("in"), out = point.Int("out");
  const auto make = [&](GemmForm form, int64_t m, int64_t n, int64_t k) {
    return std::make_shared<Factors>(form, m, n, k, /*gap=*/0, point.Int("seed"));
  };
  const std::string& product = point.Text("product");
  return product == "forward"  ? make(GemmForm::kNT, batch, out, in)
         : product == "inputs" ? make(GemmForm::kNN, batch, in, out)
                               : make(GemmForm::kTN, out, in, batch);
}

void CheckTimed(Context& ctx, Factors& factors, const KernelFunction<ProductArgs>& run,
                bool other_sums) {
  const ProductArgs args = factors.Args();
  const ExpectedProduct expected(ctx, args, Ours);
  run(ctx, args);
  expected.Check(args, other_sums);
}

KernelPoint<ProductArgs> Make(Context& ctx, const Point& point) {
  const std::shared_ptr<Factors> factors = FactorsOf(point);
  factors->Args();
  const auto hard = std::make_shared<HardProducts>();
  const auto sums =
      std::make_shared<std::vector<float>>(static_cast<size_t>(ctx.threads().threads()));
  const ProductArgs& p = factors->args();
  const int64_t work = p.m * p.n * p.k;
  return {.ours = Ours,
          .args = [factors](int) { return factors->args(); },
          .check_hard = [hard](Context& c, const auto& run,
                               bool other_sums) { hard->RunAndCheck(c, run, other_sums); },
          .check_timed = [factors](Context& c, const auto& run,
                                   bool other_sums) { CheckTimed(c, *factors, run, other_sums); },
          .tolerance = ProductTolerance(p.k),
          .limit = {"bare fma",
                    [&ctx, sums, work](int) {
                      RunBare(ctx, BareFma{work, sums->data()});
                    }},
          .bytes = static_cast<double>(kFloat * (p.m * p.k + p.k * p.n + p.m * p.n)),
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
