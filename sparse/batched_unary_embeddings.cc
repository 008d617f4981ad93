#include "sparse/batched_unary_embeddings.h"

#include <memory>
#include <utility>

#include "runtime/device/dispatch.h"
#include "sparse/batched_unary_embeddings_impl.h"
#include "sparse/ops/naming_op.h"

namespace tessera {
namespace internal {
namespace {

// fn(task, table) for all, in parallel: no two of them touch the same weight.
template <typename Fn>
void ForTables(Context& ctx, int64_t tasks, int64_t tables, Fn fn) {
  ParallelFor(ctx, tasks * tables, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) fn(i / tables, i % tables);
  });
}

// fn(bag, row) for the ids of a table.
template <typename Fn>
void ForIds(const UnaryRows& rows, int64_t table, Fn fn) {
  const int64_t *at = rows.bags.offsets.data<int64_t>() + table * rows.batch,
                *row = rows.rows.data<int64_t>();
  for (int64_t b = 0; b < rows.batch; ++b)
    for (int64_t i = at[b]; i < at[b + 1]; ++i) fn(b, row[i]);
}

}  // namespace

Tensor RowsOfIds(OnCpu, Context& ctx, const Segments& tables, const Segments& bags, int64_t batch,
                 const Tensor& ids) {
  Tensor rows = ids.Clone(ctx);
  const int64_t *first = tables.offsets.data<int64_t>(), *at = bags.offsets.data<int64_t>();
  for (int64_t bag = 0; bag < bags.count(); ++bag) {
    const int64_t t = bag / batch, size = first[t + 1] - first[t];
    for (int64_t i = at[bag]; i < at[bag + 1]; ++i) {
      int64_t& id = rows.data<int64_t>()[i];
      TESSERA_CHECK(id >= 0 && id < size, "table {}, bag {}: id {} is outside [0, {})", t,
                    bag % batch, id, size);
      id += first[t];
    }
  }
  return rows;
}

void UnaryForward(OnCpu, Context& ctx, const UnaryRows& rows, const Tensor& w, const Tensor& y) {
  const float* in = w.data<float>();
  float* out = y.data<float>();
  y.Fill(ctx, 0);
  ForTables(ctx, w.dim(0), rows.tables, [&](int64_t n, int64_t t) {
    ForIds(rows, t, [&](int64_t b, int64_t row) {
      out[(n * rows.batch + b) * rows.tables + t] += in[n * rows.weights + row];
    });
  });
}

void UnaryBackward(OnCpu, Context& ctx, const UnaryRows& rows, const Tensor& g, const Tensor& gw) {
  const float* upstream = g.data<float>();
  float* out = gw.data<float>();
  gw.Fill(ctx, 0);
  ForTables(ctx, gw.dim(0), rows.tables, [&](int64_t n, int64_t t) {
    ForIds(rows, t, [&](int64_t b, int64_t row) {
      out[n * rows.weights + row] += upstream[(n * rows.batch + b) * rows.tables + t];
    });
  });
}

}  // namespace internal

namespace {

using internal::UnaryRows;

class UnaryFunction : public Function {
 public:
  UnaryFunction(UnaryRows rows, Shape shape) : rows_(std::move(rows)), shape_(shape) {}
  std::string_view name() const override { return "BatchedUnaryEmbeddings"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor g = grads[0].Contiguous(ctx);
    Tensor sum = Tensor::Empty(ctx, shape_);
    DispatchDevice(ctx.device(), [&](auto on) { internal::UnaryBackward(on, ctx, rows_, g, sum); });
    return {sum};
  }

 private:
  UnaryRows rows_;
  Shape shape_;
};

UnaryRows MakeRows(Context& ctx, const Tensor& table_offsets, const Tensor& offsets,
                   const Tensor& indices, int64_t weights) {
  const Segments tables = SegmentsOverOffsets(ctx, table_offsets, weights, "table_offsets");
  Segments bags = SegmentsOverOffsets(ctx, offsets, indices.dim(0), "offsets");
  TESSERA_CHECK(tables.count() > 0 && bags.count() % tables.count() == 0,
                "{} bags of {} tables; expected as many for each", bags.count(), tables.count());
  VisitIndexType(indices.dtype(), "indices", []<typename T>() {});
  const Tensor ids = indices.Contiguous(ctx).To(ctx, DType::kI64);
  const int64_t batch = bags.count() / tables.count();
  Tensor rows = DispatchDevice(ctx.device(), [&](auto on) {
    return internal::RowsOfIds(on, ctx, tables, bags, batch, ids);
  });
  return {tables.count(), batch, weights, std::move(rows), std::move(bags)};
}

}  // namespace

Variable BatchedUnaryEmbeddings(Context& ctx, const Variable& weight, const Tensor& table_offsets,
                                const Tensor& offsets, const Tensor& indices) {
  return internal::NamingOp("BatchedUnaryEmbeddings", [&]() -> Variable {
    CheckDevice(ctx, "BatchedUnaryEmbeddings", weight, table_offsets, offsets, indices);
    if (weight.rank() != 3 || weight.dim(2) != 1)
      throw Error(Format("weight {}; expected [N, rows, 1]", weight.shape()));
    UnaryRows rows = MakeRows(ctx, table_offsets, offsets, indices, weight.dim(1));
    const Tensor w = weight.value().Contiguous(ctx);
    Tensor y = Tensor::Empty(ctx, {weight.dim(0), rows.batch, rows.tables});
    DispatchDevice(ctx.device(), [&](auto on) { internal::UnaryForward(on, ctx, rows, w, y); });
    return Record(ctx, std::make_unique<UnaryFunction>(std::move(rows), weight.shape()), {weight},
                  std::move(y));
  });
}

}  // namespace tessera
