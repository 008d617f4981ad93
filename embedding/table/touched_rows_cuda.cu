// Touched rows on a GPU.
#include "embedding/table/touched_rows_impl.h"
#include "runtime/algorithms.h"
#include "runtime/launch.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

// An aligned word is written whole.
struct PlainWord {
  TESSERA_HD static int32_t Load(const int32_t* p) { return *p; }
  TESSERA_HD static void Store(int32_t* p, int32_t value) { *p = value; }
};

struct FlagMarked {
  const int32_t* marks;
  int32_t since;
  uint8_t* flags;
  TESSERA_HD void operator()(int64_t row) const { flags[row] = marks[row] > since; }
};

}  // namespace

void MarkBags(OnCuda, Context& ctx, const TouchedBags& bags, const Marks& to) {
  ForEach(ctx, bags.num_bags, MarkBag<PlainWord>{bags, to});
}

Tensor MarkedSince(OnCuda, Context& ctx, const Tensor& marks, int64_t rows, int32_t since) {
  const Tensor flags = Tensor::Empty(ctx, {rows}, DType::kU8),
               touched = Tensor::Empty(ctx, {rows}, DType::kI64),
               count = Tensor::Zeros(ctx, {1}, DType::kI64);
  ForEach(ctx, rows, FlagMarked{marks.data<int32_t>(), since, flags.data<uint8_t>()});
  SelectFlagged(ctx, flags.data<uint8_t>(), rows, touched.data<int64_t>(), count.data<int64_t>());
  return touched.Rows(0, ReadScalarSync(ctx, count.data<int64_t>()));
}

}  // namespace tessera::internal
