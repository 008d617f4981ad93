#include "bench/lab/update_check.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr int64_t kMaxRows = 10'000, kMaxBags = 512;
constexpr int kSteps = 3;
constexpr float kTolerance = 1e-5f;

Shape Smaller(Shape shape) {
  for (int64_t& rows : shape.rows) rows = std::min(rows, kMaxRows);
  shape.batch = std::min(shape.batch, kMaxBags);
  return shape;
}

// Tables and gradients of one shape: the same ones each time. Gradients differ by element, so that
// a row that gets another's is seen.
struct Copy {
  Copy(Context& outer, const Shape& shape, const AnyRule& rule)
      : ctx({.seed = 11, .pool = outer.pool()}), work(ctx, shape, 0, 1), tables(work.Tables(rule)) {
    FillUniform(ctx, work.grad(), -1, 1);
  }
  Context ctx;
  Workload work;
  std::vector<UpdateTable> tables;
};

void Compare(const void* ours, const void* theirs, int64_t rows, int64_t dim, size_t table,
             const UpdateVariant& variant) {
  const auto *a = static_cast<const float*>(ours), *b = static_cast<const float*>(theirs);
  for (int64_t i = 0; i < rows * dim; ++i)
    TESSERA_CHECK(std::abs(a[i] - b[i]) <= kTolerance * (1 + std::abs(a[i])),
                  "variant {}, table {}, row {}, column {}: expected {}, got {}", variant.name,
                  table, i / dim, i % dim, a[i], b[i]);
}

}  // namespace

void CheckUpdateVariant(Context& ctx, const Shape& shape, const AnyRule& rule,
                        const UpdateVariant& variant) {
  Copy ours(ctx, Smaller(shape), rule), theirs(ctx, Smaller(shape), rule);
  for (int step = 1; step <= kSteps; ++step) {
    Update(ctx, {ours.work.Lookup(step, true), ours.tables, step});
    UpdateGrouped(ctx, {theirs.work.Lookup(step, true), theirs.tables, step}, variant.group);
  }
  for (size_t t = 0; t < ours.tables.size(); ++t) {
    const UpdateTable &a = ours.tables[t], &b = theirs.tables[t];
    Compare(a.weights, b.weights, a.num_rows, a.dim, t, variant);
    if (!a.states.empty()) Compare(a.states[0], b.states[0], a.num_rows, 1, t, variant);
  }
}

}  // namespace tessera::bench
