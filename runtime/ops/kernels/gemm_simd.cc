// Dense products by Eigen's own gemm on one thread. Eigen is renamed for each level
// (tools/isa.bzl), so that its functions of different levels, and those of a user's own Eigen, stay
// apart.
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MPL2_ONLY
#include <eigen3/Eigen/Core>

#include "runtime/ops/kernels/kernels.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using In = Eigen::Map<const Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;
using Out = Eigen::Map<Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;

Out C(const GemmArgs& g) { return Out(g.c, g.m, g.n, Eigen::OuterStride<>(g.ldc)); }

void Nn(const GemmArgs& g) {
  C(g).noalias() = In(g.a, g.m, g.k, Eigen::OuterStride<>(g.lda)) *
                   In(g.b, g.k, g.n, Eigen::OuterStride<>(g.ldb));
}

void Nt(const GemmArgs& g) {
  C(g).noalias() = In(g.a, g.m, g.k, Eigen::OuterStride<>(g.lda)) *
                   In(g.b, g.n, g.k, Eigen::OuterStride<>(g.ldb)).transpose();
}

void Tn(const GemmArgs& g) {
  C(g).noalias() = In(g.a, g.k, g.m, Eigen::OuterStride<>(g.lda)).transpose() *
                   In(g.b, g.k, g.n, Eigen::OuterStride<>(g.ldb));
}

void TnAdd(const GemmArgs& g) {
  C(g).noalias() += In(g.a, g.k, g.m, Eigen::OuterStride<>(g.lda)).transpose() *
                    In(g.b, g.k, g.n, Eigen::OuterStride<>(g.ldb));
}

}  // namespace

const GemmKernels kGemm = {Nn, Nt, Tn, TnAdd};

}  // namespace tessera::internal::TESSERA_ISA
