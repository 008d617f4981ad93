#include "sparse/ops/select.h"

#include <algorithm>
#include <utility>

#include "runtime/device/dispatch.h"
#include "runtime/for_each.h"
#include "sparse/ops/cumsum.h"
#include "sparse/ops/naming_op.h"
#include "sparse/ops/segments_impl.h"
#include "sparse/ops/select_impl.h"

namespace tessera {
namespace internal {

Tensor BagsOfKeys(OnCpu, Context& ctx, const Tensor& indices, int64_t keys, int64_t batch) {
  const std::span<const int64_t> chosen = indices.span<int64_t>();
  std::vector<int64_t> bags;
  for (int64_t key = 0; key < keys; ++key)
    for (size_t i = 0; i < chosen.size(); ++i) {
      TESSERA_CHECK(chosen[i] >= 0 && chosen[i] < batch,
                    "index {} at position {}: there are {} bags", chosen[i], i, batch);
      bags.push_back(key * batch + chosen[i]);
    }
  return Tensor::From(ctx, bags);
}

Masked SelectMasked(OnCpu, Context& ctx, const Segments& segments, const Tensor& mask,
                    DType dtype) {
  const int64_t* offsets = segments.offsets.data<int64_t>();
  const bool* keep = mask.data<bool>();
  Tensor left = Tensor::Empty(ctx, {segments.count()}, DType::kI64);
  for (int64_t s = 0; s < segments.count(); ++s)
    left.data<int64_t>()[s] = std::count(keep + offsets[s], keep + offsets[s + 1], true);
  // Bounds of runs of equal flags; every other run is kept.
  std::vector<int64_t> cuts = {0}, kept;
  for (int64_t i = 0; i < segments.rows; ++i) {
    if (i > 0 && keep[i] != keep[i - 1]) cuts.push_back(i);
    if (keep[i] && (kept.empty() || kept.back() != static_cast<int64_t>(cuts.size()) - 1))
      kept.push_back(static_cast<int64_t>(cuts.size()) - 1);
  }
  if (segments.rows > 0) cuts.push_back(segments.rows);
  return {std::make_shared<const SegmentSelection>(ctx, cuts, kept), left.To(ctx, dtype)};
}

Halves CutSegments(OnCpu on, Context& ctx, const Segments& segments, int64_t longest) {
  const int64_t n = segments.count();
  Halves halves{Tensor::Zeros(ctx, {2 * n + 1}, DType::kI64), Tensor::Empty(ctx, {n}, DType::kI64)};
  ForEach(on, ctx, n, 1 << 14,
          CutSegment{segments.offsets.data<int64_t>(), longest, halves.offsets.data<int64_t>(),
                     halves.heads.data<int64_t>()});
  return halves;
}

Halves CutWindows(OnCpu on, Context& ctx, const Segments& segments, const Tensor& start,
                  int64_t longest) {
  const int64_t n = segments.count();
  for (int64_t s = 0; s < n; ++s)
    TESSERA_CHECK_GE(start.data<int64_t>()[s], 0, "JaggedSlice: start of segment {}", s);
  Halves windows{Tensor::Zeros(ctx, {3 * n + 1}, DType::kI64),
                 Tensor::Empty(ctx, {n}, DType::kI64)};
  ForEach(on, ctx, n, 1 << 14,
          CutWindow{segments.offsets.data<int64_t>(), start.data<int64_t>(), longest,
                    windows.offsets.data<int64_t>(), windows.heads.data<int64_t>()});
  return windows;
}

}  // namespace internal

namespace {

class JaggedIndexAddFunction final : public Function {
 public:
  explicit JaggedIndexAddFunction(std::shared_ptr<const SegmentSelection> selection)
      : selection_(std::move(selection)) {}
  std::string_view name() const override { return "JaggedIndexAdd2d"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {selection_->Gather(ctx, grads[0].Contiguous(ctx))};
  }

 private:
  std::shared_ptr<const SegmentSelection> selection_;
};

Tensor AsInt64(Context& ctx, const Tensor& t) {
  VisitIndexType(t.dtype(), "indices", []<typename T>() {});
  return t.Contiguous(ctx).To(ctx, DType::kI64);
}

void CheckShapes(const char* op, const Variable& values, const Tensor& lengths) {
  if (lengths.rank() != 1) throw Error(Format("{}: lengths {}; expected [n]", op, lengths.shape()));
  if (values.rank() < 1) throw Error(Format("{}: values {}; expected [N, …]", op, values.shape()));
}

// Segments of the values. A selection checks them when it waits.
Segments UncheckedSegments(Context& ctx, const char* op, const Variable& values,
                           const Tensor& lengths) {
  CheckShapes(op, values, lengths);
  const Tensor in = lengths.Contiguous(ctx);
  return {DispatchDevice(ctx.device(),
                         [&](auto on) { return internal::OffsetsOfRows(on, ctx, in, in.dim(0)); }),
          values.dim(0)};
}

std::shared_ptr<const SegmentSelection> Selection(Context& ctx, const Segments& segments,
                                                  const Tensor& picks) {
  return std::make_shared<const SegmentSelection>(ctx, segments.offsets, segments.count(),
                                                  segments.rows, picks);
}

// The lengths of the output segments.
Tensor LengthsOf(Context& ctx, const SegmentSelection& selection, DType dtype) {
  return LengthsFromOffsets(ctx, selection.output_offsets()).To(ctx, dtype);
}

}  // namespace

Jagged JaggedIndexSelect(Context& ctx, const Variable& values, const Tensor& lengths,
                         const Tensor& indices) {
  return internal::NamingOp("JaggedIndexSelect", [&]() -> Jagged {
    CheckDevice(ctx, "JaggedIndexSelect", values, lengths, indices);
    const Segments segments = UncheckedSegments(ctx, "JaggedIndexSelect", values, lengths);
    const auto selection = Selection(ctx, segments, AsInt64(ctx, indices));
    return {SelectSegments(ctx, values, selection), LengthsOf(ctx, *selection, lengths.dtype())};
  });
}

KeyedJaggedSelection KeyedJaggedIndexSelectDim1(Context& ctx, const Variable& values,
                                                const Tensor& lengths, const Tensor& offsets,
                                                const Tensor& indices, int64_t batch_size,
                                                const Variable& weights) {
  return internal::NamingOp("KeyedJaggedIndexSelectDim1", [&]() -> KeyedJaggedSelection {
    CheckDevice(ctx, "KeyedJaggedIndexSelectDim1", values, lengths, offsets, indices, weights);
    const Segments segments = UncheckedSegments(ctx, "KeyedJaggedIndexSelectDim1", values, lengths);
    if (offsets.defined() && ctx.device() == Device::Cpu())
      TESSERA_CHECK(ToInt64(offsets) == ToInt64(segments.offsets),
                    "KeyedJaggedIndexSelectDim1: offsets are not the cumulative sum of lengths");
    TESSERA_CHECK(batch_size > 0 && lengths.dim(0) % batch_size == 0,
                  "{} lengths and batch_size {}", lengths.dim(0), batch_size);
    const Tensor chosen = AsInt64(ctx, indices);
    const Tensor picks = DispatchDevice(ctx.device(), [&](auto on) {
      return internal::BagsOfKeys(on, ctx, chosen, lengths.dim(0) / batch_size, batch_size);
    });
    const auto selection = Selection(ctx, segments, picks);
    return {SelectSegments(ctx, values, selection), LengthsOf(ctx, *selection, lengths.dtype()),
            SelectSegments(ctx, weights, selection)};
  });
}

Jagged MaskedSelectJagged1d(Context& ctx, const Variable& values, const Tensor& lengths,
                            const Tensor& mask) {
  return internal::NamingOp("MaskedSelectJagged1d", [&]() -> Jagged {
    CheckDevice(ctx, "MaskedSelectJagged1d", values, lengths, mask);
    CheckShapes("MaskedSelectJagged1d", values, lengths);
    const Segments segments = SegmentsOfLengths(ctx, lengths);
    if (segments.rows != values.dim(0))
      throw Error(Format("lengths sum to {} for {} values", segments.rows, values.dim(0)));
    if (mask.shape() != Shape{values.dim(0)} || mask.dtype() != DType::kBool)
      throw Error(Format("mask {} of {}; expected [{}] of bool, one a value", mask.shape(),
                         mask.dtype(), values.dim(0)));
    const internal::Masked masked = DispatchDevice(ctx.device(), [&](auto on) {
      return internal::SelectMasked(on, ctx, segments, mask.Contiguous(ctx), lengths.dtype());
    });
    return {SelectSegments(ctx, values, masked.rows), masked.lengths};
  });
}

Variable Jagged1dToTruncatedValues(Context& ctx, const Variable& values, const Tensor& lengths,
                                   int64_t max_truncated_length) {
  return internal::NamingOp("Jagged1dToTruncatedValues", [&]() -> Variable {
    CheckDevice(ctx, "Jagged1dToTruncatedValues", values, lengths);
    TESSERA_CHECK_GE(max_truncated_length, 0, "max_truncated_length");
    const Segments segments = UncheckedSegments(ctx, "Jagged1dToTruncatedValues", values, lengths);
    const internal::Halves halves = DispatchDevice(ctx.device(), [&](auto on) {
      return internal::CutSegments(on, ctx, segments,
                                   std::min(max_truncated_length, segments.rows));
    });
    return SelectSegments(
        ctx, values,
        std::make_shared<const SegmentSelection>(ctx, halves.offsets, 2 * segments.count(),
                                                 segments.rows, halves.heads));
  });
}

Jagged JaggedSlice(Context& ctx, const Variable& values, const Tensor& lengths, const Tensor& start,
                   int64_t slice_length) {
  return internal::NamingOp("JaggedSlice", [&]() -> Jagged {
    CheckDevice(ctx, "JaggedSlice", values, lengths, start);
    TESSERA_CHECK_GE(slice_length, 0, "slice_length");
    TESSERA_CHECK_EQ(start.shape(), lengths.shape(), "JaggedSlice: start, one a segment");
    const Segments segments = UncheckedSegments(ctx, "JaggedSlice", values, lengths);
    const Tensor from = AsInt64(ctx, start);
    const internal::Halves windows = DispatchDevice(ctx.device(), [&](auto on) {
      return internal::CutWindows(on, ctx, segments, from, slice_length);
    });
    const auto selection = std::make_shared<const SegmentSelection>(
        ctx, windows.offsets, 3 * segments.count(), segments.rows, windows.heads);
    return {SelectSegments(ctx, values, selection), LengthsOf(ctx, *selection, lengths.dtype())};
  });
}

Variable JaggedIndexAdd2d(Context& ctx, const Variable& values, const Tensor& indices,
                          const Tensor& lengths, const Tensor& output_lengths) {
  return internal::NamingOp("JaggedIndexAdd2d", [&]() -> Variable {
    CheckDevice(ctx, "JaggedIndexAdd2d", values, indices, lengths, output_lengths);
    CheckShapes("JaggedIndexAdd2d", values, lengths);
    TESSERA_CHECK_EQ(indices.shape(), lengths.shape(), "JaggedIndexAdd2d: indices, one a segment");
    const Segments output = SegmentsOfLengths(ctx, output_lengths);
    const auto selection = Selection(ctx, output, AsInt64(ctx, indices));
    TESSERA_CHECK(
        ToInt64(LengthsOf(ctx, *selection, DType::kI64)) == ToInt64(lengths),
        "JaggedIndexAdd2d: a segment has another length than the one that it is added to");
    TESSERA_CHECK_EQ(values.dim(0), selection->output_rows(),
                     "JaggedIndexAdd2d: rows of the values");
    return Record(ctx, std::make_unique<JaggedIndexAddFunction>(selection), {values},
                  selection->ScatterAdd(ctx, values.value().Contiguous(ctx)));
  });
}

}  // namespace tessera
