// Products by cuBLAS's interface: row-major matrices in terms of column-major ones. The emulator
// stands in for the library.
#include "runtime/cublas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/ops/gemm.h"
#include "runtime/ops/linear.h"
#include "tests/testing/error_of.h"
#include "tests/testing/finite_differences.h"
#include "tools/emulation/cublas.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::RandomTensor;

int products = 0, compute_type = -1;

int CountingGemm(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                 const void* a, int type_a, int lda, const void* b, int type_b, int ldb,
                 const void* beta, void* c, int type_c, int ldc, int compute, int algorithm) {
  ++products;
  compute_type = compute;
  return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c,
                      type_c, ldc, compute, algorithm);
}
int FailingCreate(void**) { return 3; }

const internal::CublasFunctions kEmulated = {cublasCreate_v2, cublasSetStream_v2,
                                             cublasSetWorkspace_v2, CountingGemm,
                                             cublasGemmStridedBatchedEx};

TEST(FindCublas, DoesWhatIsWishedOrSaysWhyNot) {
  EXPECT_EQ(internal::FindCublas("off"), nullptr);
  const auto message = [](const std::string& wish) -> std::string {
    try {
      internal::FindCublas(wish);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_THAT(message("/nowhere/libcublas.so"),
              AllOf(HasSubstr("TESSERA_CUBLAS=/nowhere/libcublas.so: expected \"off\""),
                    HasSubstr("cannot open shared object file")));
  EXPECT_THAT(message(::testing::TempDir()), HasSubstr("libcublas.so.13"));
  EXPECT_THAT(message("libm.so.6"), HasSubstr("libm.so.6 lacks a function of cuBLAS"));
}

class CublasTest : public ::testing::Test {
 protected:
  void SetUp() override {
    products = 0;
    internal::UseCublas(&kEmulated);
  }
  void TearDown() override { internal::UseCublas(nullptr); }

  // The product by our own kernel.
  template <typename Product>
  Tensor ByOurKernel(const Product& product) {
    internal::UseCublas(nullptr);
    const Tensor result = product();
    internal::UseCublas(&kEmulated);
    return result;
  }
  template <typename Product>
  void ExpectAgreement(const Product& product) {
    const std::vector<float> got = product().template ToVector<float>(),
                             expected = ByOurKernel(product).template ToVector<float>();
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << i;
  }
  Context ctx_{{.device = Device::Cuda(), .seed = 1}};
};

TEST_F(CublasTest, AllFormsWithRowsOfAnyStride) {
  for (const auto& [m, n, k] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {5, 3, 7}, {1, 6, 4}, {6, 1, 4}}) {
    const Tensor a = RandomTensor(ctx_, {m, k + 2}).Narrow(1, 1, k), b = RandomTensor(ctx_, {k, n}),
                 at = RandomTensor(ctx_, {k, m}),
                 bt = RandomTensor(ctx_, {n, k + 3}).Narrow(1, 0, k);
    ExpectAgreement([&] { return Gemm(ctx_, GemmForm::kNN, a, b); });
    ExpectAgreement([&] { return Gemm(ctx_, GemmForm::kNT, a, bt); });
    ExpectAgreement([&] { return Gemm(ctx_, GemmForm::kTN, at, b); });
  }
  EXPECT_EQ(products, 12);
}

TEST_F(CublasTest, Batches) {
  const Tensor a = RandomTensor(ctx_, {4, 2, 3}), b = RandomTensor(ctx_, {4, 3, 5}),
               bt = RandomTensor(ctx_, {4, 5, 3}), at = RandomTensor(ctx_, {4, 3, 2});
  ExpectAgreement([&] { return BatchGemm(ctx_, GemmForm::kNN, a, b); });
  ExpectAgreement([&] { return BatchGemm(ctx_, GemmForm::kNT, a, bt); });
  ExpectAgreement([&] { return BatchGemm(ctx_, GemmForm::kTN, at, b); });
}

TEST_F(CublasTest, BiasAndReluFollow) {
  const Tensor x = RandomTensor(ctx_, {70, 4}), w = RandomTensor(ctx_, {35, 4}),
               bias = RandomTensor(ctx_, {35});
  ExpectAgreement([&] { return LinearRelu(ctx_, x, w, bias).value(); });
  ExpectAgreement([&] { return LinearRelu(ctx_, x, w, {}).value(); });
  ExpectAgreement([&] { return Linear(ctx_, x, w, bias).value(); });
}

TEST_F(CublasTest, EmptyProductsNeverReachIt) {
  EXPECT_EQ(Gemm(ctx_, GemmForm::kNN, RandomTensor(ctx_, {2, 0}), RandomTensor(ctx_, {0, 3}))
                .ToVector<float>(),
            std::vector<float>(6, 0.0f));
  EXPECT_EQ(products, 0);
}

TEST_F(CublasTest, TensorCoresOnlyWhereAContextAsksForThem) {
  const auto type_of = [](DenseProducts products) {
    Context ctx({.device = Device::Cuda(), .dense_products = products});
    Gemm(ctx, GemmForm::kNN, RandomTensor(ctx, {2, 2}), RandomTensor(ctx, {2, 2}));
    return compute_type;
  };
  EXPECT_EQ(type_of(DenseProducts::kDefault), internal::kCublasCompute32F);
  EXPECT_EQ(type_of(DenseProducts::kTf32), internal::kCublasCompute32FFastTf32);
}

// bf16 is the product of factors that were rounded before, of every form, with strides too.
TEST_F(CublasTest, Bf16RoundsBothFactors) {
  Context bf16({.device = Device::Cuda(), .dense_products = DenseProducts::kBf16});
  const auto rounded = [&](const Tensor& t) {
    return t.To(bf16, DType::kBF16).To(bf16, DType::kF32);
  };
  const auto expect_rounded = [&](const auto& product, const Tensor& a, const Tensor& b) {
    const Tensor rounded_a = rounded(a), rounded_b = rounded(b);
    bf16.Sync();
    EXPECT_EQ(product(bf16, a, b).template ToVector<float>(),
              product(ctx_, rounded_a, rounded_b).template ToVector<float>());
  };
  const auto product_of = [](GemmForm form) {
    return [form](Context& ctx, const Tensor& a, const Tensor& b) { return Gemm(ctx, form, a, b); };
  };
  const Tensor a = RandomTensor(bf16, {40, 33}), b = RandomTensor(bf16, {33, 9}),
               bt = RandomTensor(bf16, {9, 33}), at = RandomTensor(bf16, {33, 40});
  expect_rounded(product_of(GemmForm::kNN), a, b);
  expect_rounded(product_of(GemmForm::kNT), a, bt);
  expect_rounded(product_of(GemmForm::kTN), at, b);
  expect_rounded(product_of(GemmForm::kNN), RandomTensor(bf16, {40, 50}).Narrow(1, 3, 33), b);
  const auto batch_product = [](Context& ctx, const Tensor& x, const Tensor& y) {
    return BatchGemm(ctx, GemmForm::kNT, x, y);
  };
  expect_rounded(batch_product, RandomTensor(bf16, {7, 5, 6}), RandomTensor(bf16, {7, 4, 6}));
}

TEST_F(CublasTest, TensorCoresWithoutItAreAnError) {
  internal::UseCublas(nullptr);
  Context ctx({.device = Device::Cuda(), .dense_products = DenseProducts::kTf32});
  const Tensor a = RandomTensor(ctx, {2, 2});
  EXPECT_THAT(testing::ErrorOf([&] { Gemm(ctx, GemmForm::kNN, a, a); }),
              HasSubstr("dense products tf32: cuBLAS makes them, and there is none"));
}

TEST_F(CublasTest, AFailureNamesTheCall) {
  internal::CublasFunctions broken = kEmulated;
  broken.create = FailingCreate;
  internal::UseCublas(&broken);
  const Tensor a = RandomTensor(ctx_, {2, 2});
  try {
    Gemm(ctx_, GemmForm::kNN, a, a);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("create: status 3"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera
