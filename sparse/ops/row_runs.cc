#include "sparse/ops/row_runs.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "runtime/device/dispatch.h"
#include "sparse/ops/row_runs_impl.h"

namespace tessera {
namespace {

class SelectSegmentsFunction : public Function {
 public:
  explicit SelectSegmentsFunction(std::shared_ptr<const SegmentSelection> selection)
      : selection_(std::move(selection)) {}
  std::string_view name() const override { return "SelectSegments"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {selection_->ScatterAdd(ctx, grads[0])};
  }

 private:
  std::shared_ptr<const SegmentSelection> selection_;
};

Tensor MovedRows(Context& ctx, const Tensor& source, const Tensor& slots, bool take) {
  CheckDevice(ctx, "movement of rows", source, slots);
  const Tensor from = source.Contiguous(ctx), where = slots.Contiguous(ctx);
  Tensor to = Tensor::Empty(ctx, internal::WithRows(from, where.dim(0)), from.dtype());
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::MoveRows(on, ctx, from, where, take, to); });
  return to;
}

}  // namespace

namespace internal {

int64_t RowBytes(const Tensor& t) {
  int64_t bytes = SizeOf(t.dtype());
  for (int i = 1; i < t.rank(); ++i) bytes *= t.dim(i);
  return bytes;
}

Shape WithRows(const Tensor& t, int64_t rows) {
  TESSERA_CHECK_GE(t.rank(), 1, "rows of a tensor {}", t.shape());
  Shape shape = t.shape();
  shape[0] = rows;
  return shape;
}

}  // namespace internal

SegmentSelection::SegmentSelection(Context& ctx, const std::vector<int64_t>& source_offsets,
                                   const std::vector<int64_t>& picks)
    : source_rows_(source_offsets.back()) {
  const std::vector<int64_t> output_offsets = internal::OutputOffsets(source_offsets, picks);
  output_rows_ = output_offsets.back();
  // One copy to the device for all three.
  std::vector<int64_t> all = source_offsets;
  all.insert(all.end(), picks.begin(), picks.end());
  all.insert(all.end(), output_offsets.begin(), output_offsets.end());
  const Tensor joined = Tensor::From(ctx, all);
  const auto sources = static_cast<int64_t>(source_offsets.size()),
             outputs = static_cast<int64_t>(picks.size());
  source_offsets_ = joined.Rows(0, sources);
  picks_ = joined.Rows(sources, sources + outputs);
  output_offsets_ = joined.Rows(sources + outputs, joined.dim(0));
}

SegmentSelection::SegmentSelection(Context& ctx, const Tensor& offsets, int64_t segments,
                                   int64_t source_rows, const Tensor& picks,
                                   std::optional<int64_t> output_rows) {
  internal::SelectionParts parts = DispatchDevice(ctx.device(), [&](auto on) {
    return internal::MakeSelection(on, ctx, offsets, segments, source_rows, picks, output_rows);
  });
  source_offsets_ = std::move(parts.source_offsets);
  picks_ = std::move(parts.picks);
  output_offsets_ = std::move(parts.output_offsets);
  source_rows_ = parts.source_rows;
  output_rows_ = parts.output_rows;
}

Tensor SegmentSelection::Gather(Context& ctx, const Tensor& tensor) const {
  CheckDevice(ctx, "selection of segments", tensor, picks_);
  TESSERA_CHECK_EQ(tensor.dim(0), source_rows(), "rows to select segments of");
  const Tensor source = tensor.Contiguous(ctx);
  Tensor result = Tensor::Empty(ctx, internal::WithRows(source, output_rows()), source.dtype());
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::GatherSegments(on, ctx, *this, source, result); });
  return result;
}

Tensor SegmentSelection::ScatterAdd(Context& ctx, const Tensor& gradient) const {
  CheckDevice(ctx, "gradient of selected segments", gradient, picks_);
  const Tensor grad = gradient.Contiguous(ctx);
  TESSERA_CHECK_EQ(grad.dim(0), output_rows(), "gradient of selected segments");
  Tensor sum = Tensor::Empty(ctx, internal::WithRows(grad, source_rows()), grad.dtype());
  DispatchDevice(ctx.device(), [&](auto on) { internal::AddSegments(on, ctx, *this, grad, sum); });
  return sum;
}

Variable SelectSegments(Context& ctx, const Variable& source,
                        std::shared_ptr<const SegmentSelection> selection) {
  if (!source.defined()) return {};
  Tensor result = selection->Gather(ctx, source.value());
  return Record(ctx, std::make_unique<SelectSegmentsFunction>(std::move(selection)), {source},
                std::move(result));
}

Tensor TakeRows(Context& ctx, const Tensor& source, const Tensor& slots) {
  return MovedRows(ctx, source, slots, /*take=*/true);
}

Tensor PlaceRows(Context& ctx, const Tensor& source, const Tensor& slots) {
  return MovedRows(ctx, source, slots, /*take=*/false);
}

}  // namespace tessera
