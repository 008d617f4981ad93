#include "sparse/ops/index_select.h"

#include <memory>
#include <numeric>
#include <string>

#include "runtime/ops/shaping.h"
#include "sparse/ops/row_runs.h"

namespace tessera {
namespace {

class IndexSelectFunction final : public Function {
 public:
  IndexSelectFunction(int64_t rows, Tensor indices) : rows_(rows), indices_(std::move(indices)) {}
  std::string_view name() const override { return "IndexSelectDim0"; }

  // Each row is a segment, each choice picks one.
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    std::vector<int64_t> offsets(static_cast<size_t>(rows_) + 1);
    std::iota(offsets.begin(), offsets.end(), int64_t{0});
    const SegmentSelection rows(ctx, Tensor::From(ctx, offsets), rows_, rows_, indices_,
                                indices_.dim(0));
    return {rows.ScatterAdd(ctx, grads[0].Contiguous(ctx))};
  }

 private:
  int64_t rows_;
  Tensor indices_;
};

void CheckIndices(const Tensor& indices, int64_t rows) {
  if (indices.device() != Device::Cpu()) return;
  const std::span<const int64_t> chosen = indices.span<int64_t>();
  for (size_t i = 0; i < chosen.size(); ++i)
    TESSERA_CHECK(chosen[i] >= 0 && chosen[i] < rows,
                  "IndexSelectDim0: index {} at position {}: there are {} rows", chosen[i], i,
                  rows);
}

// The sum of terms that are 0 or more; -1 if it, or one of them, is none of 63 bits.
template <typename Fn>
int64_t SumOf(size_t n, const Fn& term) {
  int64_t sum = 0;
  for (size_t i = 0; i < n; ++i)
    if (const int64_t t = term(i); t < 0 || __builtin_add_overflow(sum, t, &sum)) return -1;
  return sum;
}

int64_t Product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

std::string OrTooMany(int64_t number) {
  return number < 0 ? "a number beyond 63 bits" : std::to_string(number);
}

void CheckSizes(const BatchIndexSelectArgs& args) {
  const size_t n = args.rows.size();
  TESSERA_CHECK(args.columns.size() == n && args.num_indices.size() == n,
                "BatchIndexSelectDim0: {} rows, {} columns, {} numbers of indices; expected one "
                "each a matrix",
                n, args.columns.size(), args.num_indices.size());
  TESSERA_CHECK_EQ(args.inputs.rank(), 1, "BatchIndexSelectDim0: inputs {}", args.inputs.shape());
  for (size_t i = 0; i < n; ++i) {
    TESSERA_CHECK(args.rows[i] >= 0 && args.columns[i] > 0 && args.num_indices[i] >= 0,
                  "BatchIndexSelectDim0: matrix {} is [{}, {}], of which {} rows are chosen", i,
                  args.rows[i], args.columns[i], args.num_indices[i]);
    TESSERA_CHECK(!args.permute_output_dim_0_1 || args.num_indices[i] == args.num_indices[0],
                  "BatchIndexSelectDim0: permute_output_dim_0_1 with {} indices of matrix {}, but "
                  "{} of the first",
                  args.num_indices[i], i, args.num_indices[0]);
  }
  const int64_t chosen = SumOf(n, [&](size_t i) { return args.num_indices[i]; }),
                elements =
                    SumOf(n, [&](size_t i) { return Product(args.rows[i], args.columns[i]); });
  if (args.indices.rank() != 1 || args.indices.dim(0) != chosen)
    throw Error(Format("BatchIndexSelectDim0: indices {}; num_indices sum to {}",
                       args.indices.shape(), OrTooMany(chosen)));
  if (args.inputs.dim(0) != elements)
    throw Error(Format("BatchIndexSelectDim0: {} elements of inputs; the matrices have {}",
                       args.inputs.dim(0), OrTooMany(elements)));
}

}  // namespace

Variable IndexSelectDim0(Context& ctx, const Variable& x, const Tensor& indices) {
  CheckDevice(ctx, "IndexSelectDim0", x, indices);
  TESSERA_CHECK(x.rank() >= 1, "IndexSelectDim0: x {}", x.shape());
  TESSERA_CHECK_EQ(indices.rank(), 1, "IndexSelectDim0: indices {}", indices.shape());
  VisitIndexType(indices.dtype(), "IndexSelectDim0: indices", []<typename T>() {});
  const Tensor chosen = indices.To(ctx, DType::kI64).Contiguous(ctx);
  CheckIndices(chosen, x.dim(0));
  return Record(ctx, std::make_unique<IndexSelectFunction>(x.dim(0), chosen), {x},
                TakeRows(ctx, x.value().Contiguous(ctx), chosen));
}

std::vector<Variable> GroupIndexSelectDim0(Context& ctx, const std::vector<Variable>& inputs,
                                           const std::vector<Tensor>& indices) {
  TESSERA_CHECK_EQ(inputs.size(), indices.size(), "GroupIndexSelectDim0: inputs and indices");
  std::vector<Variable> chosen;
  for (size_t i = 0; i < inputs.size(); ++i)
    chosen.push_back(IndexSelectDim0(ctx, inputs[i], indices[i]));
  return chosen;
}

Variable BatchIndexSelectDim0(Context& ctx, const BatchIndexSelectArgs& args) {
  CheckSizes(args);
  if (args.rows.empty()) return args.inputs;
  std::vector<Variable> chosen;
  int64_t element = 0, index = 0;
  for (size_t i = 0; i < args.rows.size(); ++i) {
    const int64_t elements = args.rows[i] * args.columns[i];
    const Variable matrix = Reshape(ctx, Narrow(ctx, args.inputs, 0, element, elements),
                                    {args.rows[i], args.columns[i]});
    chosen.push_back(
        IndexSelectDim0(ctx, matrix, args.indices.Rows(index, index + args.num_indices[i])));
    if (!args.permute_output_dim_0_1) chosen.back() = Reshape(ctx, chosen.back(), {-1});
    element += elements;
    index += args.num_indices[i];
  }
  if (!args.permute_output_dim_0_1) return Concat(ctx, chosen, 0);
  return Reshape(ctx, Concat(ctx, chosen, 1), {-1});
}

}  // namespace tessera
