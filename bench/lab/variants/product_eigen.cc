// Eigen's product, a block of rows a thread: the order of its sums is its own.
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MPL2_ONLY
#define Eigen Eigen_lab  // compiled for another machine than the library's own Eigen
#include <algorithm>
#include <eigen3/Eigen/Core>

#include "bench/lab/product_kernel.h"
#include "bench/lab/variant.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Input = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;
using Output = Eigen::Map<Matrix, 0, Eigen::OuterStride<>>;
constexpr int64_t kBlock = 64;  // rows of C

void MultiplyRows(const ProductArgs& p, int64_t row, int64_t rows) {
  Output c(p.c + row * p.ldc, rows, p.n, Eigen::OuterStride<>(p.ldc));
  const auto factor = [](const float* data, int64_t height, int64_t width, int64_t ld) {
    return Input(data, height, width, Eigen::OuterStride<>(ld));
  };
  if (p.k == 0)
    c.setZero();
  else if (p.form == GemmForm::kNN)
    c.noalias() = factor(p.A(row, 0), rows, p.k, p.lda) * factor(p.b, p.k, p.n, p.ldb);
  else if (p.form == GemmForm::kNT)
    c.noalias() = factor(p.A(row, 0), rows, p.k, p.lda) * factor(p.b, p.n, p.k, p.ldb).transpose();
  else
    c.noalias() = factor(p.A(row, 0), p.k, rows, p.lda).transpose() * factor(p.b, p.k, p.n, p.ldb);
}

void Multiply(Context& ctx, const ProductArgs& p) {
  ParallelFor(ctx, (p.m + kBlock - 1) / kBlock, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block)
      MultiplyRows(p, block * kBlock, std::min(kBlock, p.m - block * kBlock));
  });
}

const RegisterVariant<ProductArgs> kEigen(
    {.name = "eigen", .about = "Eigen's own product", .other_sums = true}, Multiply);

}  // namespace
}  // namespace tessera::bench
