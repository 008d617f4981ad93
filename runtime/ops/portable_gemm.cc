// Products of our own (runtime/ops/kernels/product.h) on the threads of a context. How C is cut
// changes no bit, so cuts suit the number of threads.
#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/division.h"
#include "runtime/context.h"
#include "runtime/device/scratch_pool.h"
#include "runtime/ops/gemm_impl.h"
#include "runtime/ops/kernels/product.h"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

// A C of so few columns would leave most lanes of a register idle: its transpose is made.
constexpr int64_t kNarrow = 4;
// Terms that are packed by one thread at a time, at least.
constexpr int64_t kPackedAtOnce = 1 << 14;
// Parts of C for each thread, and small products of a batch for one part.
constexpr int64_t kTasksOfThread = 4, kProductsOfTask = 8;

static_assert(kPieceOfSum == kGemmPiece);

// Room for the rows and columns that `multiply` packs. It is not set: a vector would write zeros to
// all of it, which takes longer than a small product.
struct GiveRoomBack {
  void operator()(float* room) const noexcept { GiveScratch(room, kBytes); }
  static constexpr size_t kBytes = static_cast<size_t>(kProductScratch) * sizeof(float);
};
std::unique_ptr<float, GiveRoomBack> TakeRoom() {
  return std::unique_ptr<float, GiveRoomBack>(
      static_cast<float*>(TakeScratch(GiveRoomBack::kBytes)));
}

// A product as the kernels take it.
ProductArgs ArgsOf(const GemmProblem& p, int64_t index) {
  const GemmArgs& g = p.first;
  return {{g.a + index * p.step_a, g.lda, p.form != GemmForm::kTN, g.m},
          {g.b + index * p.step_b, g.ldb, p.form == GemmForm::kNT, g.n},
          g.k,
          g.c + index * p.step_c,
          g.ldc,
          1,
          p.add};
}

// The product of one C, and what becomes of its elements.
class Product {
 public:
  Product(const GemmProblem& problem, int64_t index)
      : kernels_(ChosenProduct()),
        bias_(problem.bias),
        relu_(problem.relu),
        packed_(problem.packed),
        args_(ArgsOf(problem, index)) {
    transposed_ = args_.b.extent <= kNarrow && args_.a.extent > args_.b.extent;
    if (!transposed_) return;
    std::swap(args_.a, args_.b);
    std::swap(args_.row_stride, args_.column_stride);
  }

  int64_t rows() const { return args_.a.extent; }
  int64_t columns() const { return args_.b.extent; }
  int64_t terms() const { return args_.k; }
  int64_t panels() const { return CeilDiv(args_.b.extent, kernels_.panel_columns); }
  int64_t panel_size() const { return kernels_.panel_columns * args_.k; }

  // The panels of B that are there already, or null.
  const float* kept_panels() const {
    const bool fits = packed_ != nullptr && !transposed_ && packed_->level == ChosenIsa() &&
                      packed_->b == args_.b.data && packed_->n == args_.b.extent &&
                      packed_->k == args_.k;
    return fits ? packed_->panels.data<float>() : nullptr;
  }
  // Whether neighbours in B's memory are terms of one column, not columns.
  bool terms_are_neighbours() const { return args_.b.depth_inner; }
  void Pack(const ProductPanels& some, float* packed) const { kernels_.pack(args_, some, packed); }
  void Multiply(const ProductPart& part, const float* packed) const {
    kernels_.multiply(args_, part, packed, TakeRoom().get());
    if (bias_ != nullptr || relu_) Finish(part);
  }

 private:
  void Finish(const ProductPart& part) const {
    int64_t row = part.row_begin, rows = part.row_end - row;
    int64_t column = part.panel_begin * kernels_.panel_columns;
    int64_t columns = std::min(part.panel_end * kernels_.panel_columns, args_.b.extent) - column;
    if (transposed_) {
      std::swap(row, column);
      std::swap(rows, columns);
    }
    const int64_t ldc = transposed_ ? args_.column_stride : args_.row_stride;
    ChosenElementwise().add_bias(args_.c + row * ldc + column, ldc, rows, columns,
                                 bias_ == nullptr ? nullptr : bias_ + column, relu_);
  }

  const ProductKernels& kernels_;
  const float* bias_;
  bool relu_;
  const PackedPanels* packed_;
  bool transposed_;
  ProductArgs args_;
};

void MultiplyAlone(const Product& product) {
  product.Multiply({0, product.rows(), 0, product.panels()}, nullptr);
}

// A thread packs what lies together in B's memory: whole panels, or some terms of all panels.
Tensor PackAll(Context& ctx, const Product& product) {
  const Tensor packed = Tensor::Empty(ctx, {product.panels() * product.panel_size()});
  const bool by_panels = product.terms_are_neighbours();
  const int64_t pieces = by_panels ? product.panels() : product.terms();
  const int64_t floats = by_panels ? product.panel_size() : product.columns();
  const int64_t at_once = CeilDiv(kPackedAtOnce, std::max<int64_t>(1, floats));
  ParallelFor(ctx, pieces, at_once, [&](int64_t begin, int64_t end) {
    product.Pack(by_panels ? ProductPanels{begin, end, 0, product.terms()}
                           : ProductPanels{0, product.panels(), begin, end},
                 packed.data<float>());
  });
  return packed;
}

// Blocks of rows, by groups of panels where the blocks alone are too few for the threads.
void MultiplyOnThreads(Context& ctx, const Product& product) {
  const float* panels = product.kept_panels();
  // One block of rows reads each panel once: packing them before would not pay.
  const bool packs =
      panels == nullptr && product.rows() > kRowsOfBlock && product.terms() > kShallowTerms;
  const Tensor packed = packs ? PackAll(ctx, product) : Tensor();
  if (packed) panels = packed.data<float>();
  const int64_t blocks = CeilDiv(product.rows(), kRowsOfBlock);
  const int64_t wanted =
      ctx.threads().threads() == 1 ? 1 : kTasksOfThread * ctx.threads().threads();
  const int64_t most_groups = std::clamp<int64_t>(CeilDiv(wanted, blocks), 1, product.panels());
  const int64_t of_group = CeilDiv(product.panels(), most_groups),
                groups = CeilDiv(product.panels(), of_group);
  ParallelFor(ctx, blocks * groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t row = task / groups * kRowsOfBlock, panel = task % groups * of_group;
      product.Multiply({row, std::min(row + kRowsOfBlock, product.rows()), panel,
                        std::min(panel + of_group, product.panels())},
                       panels);
    }
  });
}

}  // namespace

std::shared_ptr<const PackedPanels> PackPanelsOf(Context& ctx, const Tensor& b) {
  GemmProblem problem;  // of no rows
  problem.form = GemmForm::kNT;
  problem.first = {nullptr, b.data<float>(), nullptr, 0, b.dim(0), b.dim(1), 0, b.row_stride(), 0};
  return std::make_shared<PackedPanels>(
      PackedPanels{ChosenIsa(), b.data<float>(), b.dim(0), b.dim(1), PackAll(ctx, {problem, 0})});
}

void RunPortableGemm(Context& ctx, const GemmProblem& p) {
  if (p.first.m == 0 || p.first.n == 0) return;
  if (p.batch == 1) return MultiplyOnThreads(ctx, Product(p, 0));
  ParallelFor(ctx, p.batch, kProductsOfTask, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) MultiplyAlone(Product(p, i));
  });
}

}  // namespace tessera::internal
