#include "sparse/batched_unary_embeddings.h"

#include <memory>
#include <utility>

#include "sparse/row_runs.h"
#include "sparse/segments.h"

namespace tessera {
namespace {

// Ids as rows of a task's weights, and their bags.
struct Rows {
  int64_t tables = 0, batch = 0, weights = 0;  // weights: rows of all tables
  std::vector<int64_t> rows, offsets;

  // fn(task·tables + table) for all, in parallel: no two of them touch the same weight.
  template <typename Fn>
  void ForTables(Context& ctx, int64_t tasks, Fn fn) const {
    ParallelFor(ctx, tasks * tables, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) fn(i / tables, i % tables);
    });
  }
  // fn(bag, row) for the ids of a table.
  template <typename Fn>
  void ForIds(int64_t table, Fn fn) const {
    for (int64_t b = 0; b < batch; ++b) {
      const auto bag = static_cast<size_t>(table * batch + b);
      for (int64_t i = offsets[bag]; i < offsets[bag + 1]; ++i) fn(b, rows[static_cast<size_t>(i)]);
    }
  }
};

class UnaryFunction : public Function {
 public:
  UnaryFunction(std::shared_ptr<const Rows> rows, Shape shape)
      : rows_(std::move(rows)), shape_(shape) {}
  std::string_view name() const override { return "BatchedUnaryEmbeddings"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor g = grads[0].Contiguous(ctx);
    Tensor sum = Tensor::Zeros(ctx, shape_);
    const float* upstream = g.data<float>();
    float* out = sum.data<float>();
    rows_->ForTables(ctx, shape_[0], [&](int64_t n, int64_t t) {
      rows_->ForIds(t, [&](int64_t b, int64_t row) {
        out[n * shape_[1] + row] += upstream[(n * rows_->batch + b) * rows_->tables + t];
      });
    });
    return {sum};
  }

 private:
  std::shared_ptr<const Rows> rows_;
  Shape shape_;
};

std::shared_ptr<const Rows> MakeRows(const Tensor& table_offsets, const Tensor& offsets,
                                     const Tensor& indices) {
  const std::vector<int64_t> tables = CheckedOffsets(table_offsets, "table_offsets");
  auto result = std::make_shared<Rows>();
  result->tables = static_cast<int64_t>(tables.size()) - 1;
  result->weights = tables.back();
  result->offsets = CheckedOffsets(offsets, "offsets");
  result->rows = ToInt64(indices);
  const auto bags = static_cast<int64_t>(result->offsets.size()) - 1;
  TESSERA_CHECK(result->tables > 0 && bags % result->tables == 0,
                "BatchedUnaryEmbeddings: {} bags of {} tables", bags, result->tables);
  TESSERA_CHECK_EQ(result->offsets.back(), indices.dim(0),
                   "BatchedUnaryEmbeddings: the last offset, and indices");
  result->batch = bags / result->tables;
  for (int64_t bag = 0; bag < bags; ++bag) {
    const auto t = static_cast<size_t>(bag / result->batch), at = static_cast<size_t>(bag);
    for (int64_t i = result->offsets[at]; i < result->offsets[at + 1]; ++i) {
      int64_t& id = result->rows[static_cast<size_t>(i)];
      TESSERA_CHECK(id >= 0 && id < tables[t + 1] - tables[t],
                    "table {}, bag {}: id {} is outside [0, {})", t, bag % result->batch, id,
                    tables[t + 1] - tables[t]);
      id += tables[t];
    }
  }
  return result;
}

}  // namespace

Variable BatchedUnaryEmbeddings(Context& ctx, const Variable& weight, const Tensor& table_offsets,
                                const Tensor& offsets, const Tensor& indices) {
  TESSERA_CHECK(weight.rank() == 3 && weight.dim(2) == 1,
                "BatchedUnaryEmbeddings: weight {}, expected [N, rows, 1]", weight.shape());
  const std::shared_ptr<const Rows> rows = MakeRows(table_offsets, offsets, indices);
  TESSERA_CHECK_EQ(rows->weights, weight.dim(1),
                   "BatchedUnaryEmbeddings: the last table offset, and rows");
  const Tensor w = weight.value().Contiguous(ctx);
  Tensor y = Tensor::Zeros(ctx, {weight.dim(0), rows->batch, rows->tables});
  const int64_t all = w.dim(1);
  const float* in = w.data<float>();
  float* out = y.data<float>();
  rows->ForTables(ctx, weight.dim(0), [&](int64_t n, int64_t t) {
    rows->ForIds(t, [&](int64_t b, int64_t row) {
      out[(n * rows->batch + b) * rows->tables + t] += in[n * all + row];
    });
  });
  return Record(ctx, std::make_unique<UnaryFunction>(rows, weight.shape()), {weight}, std::move(y));
}

}  // namespace tessera
