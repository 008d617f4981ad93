#include "bench/lab/product_factors.h"

#include <string>

#include "runtime/base/size_limits.h"

namespace tessera::bench {
namespace {

constexpr int64_t kFloat = sizeof(float);

}  // namespace

Factors::Factors(GemmForm form, int64_t m, int64_t n, int64_t k, int64_t gap, uint32_t seed)
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

GuardedBytes Factors::Numbers(int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  GuardedBytes numbers(count * kFloat);
  for (int64_t i = 0; i < count; ++i) numbers.as<float>()[i] = normal(random);
  return numbers;
}

ProductArgs Factors::Args() {
  c_ = GuardedBytes(c_.size());
  args_.c = c_.as<float>();
  return args_;
}

void Factors::CheckGuards() const { c_.CheckGuards("C", args_.n * kFloat, args_.ldc * kFloat); }

std::vector<HardProduct> HardProducts() {
  struct Extents {
    int64_t m, n, k;
  };
  std::vector<HardProduct> all;
  for (const GemmForm form : {GemmForm::kNN, GemmForm::kNT, GemmForm::kTN})
    for (const Extents& e : {Extents{1, 1, 1},
                             {3, 2, 0},
                             {1, 5, 128},
                             {7, 67, 129},
                             {83, 3, 300},
                             {17, 49, 1000},
                             {130, 70, 257}}) {
      Factors factors(form, e.m, e.n, e.k, /*gap=*/3, /*seed=*/11);
      const ExpectedProduct expected(factors.args());
      all.push_back({std::move(factors), expected});
    }
  return all;
}

std::vector<Axis> ProductAxes() {
  return {{"product",
           {"forward"},
           "of a layer W[out, in] and a batch: forward: X[batch, in]·Wᵀ; inputs: dY[batch, out]·W; "
           "weights: dYᵀ·X",
           OneOf({"forward", "inputs", "weights"})},
          {"in", {"512"}, "inputs of the layer", WholeFrom(1, 1 << 16)},
          {"out", {"256"}, "outputs of the layer", WholeFrom(1, 1 << 16)},
          {"batch", {"4096"}, "bags of each feature; rows of X", WholeFrom(1, SizeLimits::kBatch)}};
}

Factors FactorsOf(const Point& point) {
  const int64_t batch = point.Int("batch"), in = point.Int("in"), out = point.Int("out");
  const auto make = [&](GemmForm form, int64_t m, int64_t n, int64_t k) {
    return Factors(form, m, n, k, /*gap=*/0, static_cast<uint32_t>(point.Int("seed")));
  };
  const std::string& product = point.Text("product");
  return product == "forward"  ? make(GemmForm::kNT, batch, out, in)
         : product == "inputs" ? make(GemmForm::kNN, batch, in, out)
                               : make(GemmForm::kTN, out, in, batch);
}

double BytesOf(const ProductArgs& p) {
  return static_cast<double>(kFloat * (p.m * p.k + p.k * p.n + p.m * p.n));
}

internal::GemmProblem ProblemOf(const ProductArgs& p) {
  internal::GemmProblem problem;
  problem.form = p.form;
  problem.first = {p.a, p.b, p.c, p.m, p.n, p.k, p.lda, p.ldb, p.ldc};
  return problem;
}

void PortableProduct(Context& ctx, const ProductArgs& p) {
  internal::RunPortableGemm(ctx, ProblemOf(p));
}

}  // namespace tessera::bench
