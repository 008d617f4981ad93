// A block gathers a tile of the output: it finds the segments that the tile touches, and a thread
// its row among these. Neighbours write neighbours; inside a segment they read neighbours too.
#include <bit>

#include "runtime/algorithms.h"
#include "runtime/launch.cuh"
#include "runtime/tensor.h"
#include "sparse/ops/divider.h"
#include "sparse/ops/row_runs_impl.h"
#include "sparse/ops/search.h"
#include "sparse/ops/segments_impl.h"

namespace tessera::internal {
namespace {

constexpr int kThreads = 256, kUnits = 8;  // a thread's share of a tile
constexpr int64_t kTile = int64_t{kThreads} * kUnits;

struct Selection {
  const int64_t *source_offsets, *picks, *output_offsets;
  int64_t outputs, source_rows, output_rows;

  explicit Selection(const SegmentSelection& s)
      : source_offsets(s.source_offsets().data<int64_t>()),
        picks(s.picks().data<int64_t>()),
        output_offsets(s.output_offsets().data<int64_t>()),
        outputs(s.picks().dim(0)),
        source_rows(s.source_rows()),
        output_rows(s.output_rows()) {}
};

// A tile inside one segment: all of a thread's loads are on their way before the first store.
template <typename Unit>
__device__ __forceinline__ void CopyTile(const Unit* from, Unit* to, int64_t n) {
  Unit held[kUnits];
#pragma unroll
  for (int k = 0; k < kUnits; ++k)
    if (const int i = k * kThreads + static_cast<int>(threadIdx.x); i < n) held[k] = from[i];
#pragma unroll
  for (int k = 0; k < kUnits; ++k)
    if (const int i = k * kThreads + static_cast<int>(threadIdx.x); i < n) to[i] = held[k];
}

// Rows of `units` units each.
template <typename Unit>
__global__ void __launch_bounds__(kThreads)
    GatherKernel(Selection s, Divider units, const Unit* from, Unit* to) {
  __shared__ int64_t first, last;
  const auto row_units = static_cast<int64_t>(units.divisor());
  const int64_t begin = blockIdx.x * kTile, all = s.output_rows * row_units;
  const int64_t end = begin + kTile < all ? begin + kTile : all;
  if (threadIdx.x == 0)
    first = SegmentOf(s.output_offsets, 0, s.outputs - 1, units.Split(begin).quotient);
  if (threadIdx.x == 32)
    last = SegmentOf(s.output_offsets, 0, s.outputs - 1, units.Split(end - 1).quotient);
  __syncthreads();
  const int64_t low = first, high = last;
  if (low == high) {
    const int64_t source =
        begin + (s.source_offsets[s.picks[low]] - s.output_offsets[low]) * row_units;
    if (source >= 0 && source + (end - begin) <= s.source_rows * row_units)
      return CopyTile(from + source, to + begin, end - begin);
  }
  for (int64_t u = begin + threadIdx.x; u < end; u += kThreads) {
    const Divider::Parts row = units.Split(u);
    const int64_t i = SegmentOf(s.output_offsets, low, high, row.quotient);
    const int64_t source = s.source_offsets[s.picks[i]] + row.quotient - s.output_offsets[i];
    if (source >= 0 && source < s.source_rows) to[u] = from[source * row_units + row.rest];
  }
}

template <typename Unit>
bool Divides(int64_t row_bytes, const Tensor& a, const Tensor& b) {
  const auto place = [](const Tensor& t) { return reinterpret_cast<uintptr_t>(t.raw_data()); };
  return (static_cast<uintptr_t>(row_bytes) | place(a) | place(b)) % sizeof(Unit) == 0;
}

// fn.operator()<Unit>() with the widest unit that rows and addresses are made of.
template <typename Fn>
void VisitUnit(int64_t row_bytes, const Tensor& a, const Tensor& b, const Fn& fn) {
  if (Divides<uint4>(row_bytes, a, b))
    fn.template operator()<uint4>();
  else if (Divides<uint64_t>(row_bytes, a, b))
    fn.template operator()<uint64_t>();
  else if (Divides<uint32_t>(row_bytes, a, b))
    fn.template operator()<uint32_t>();
  else if (Divides<uint16_t>(row_bytes, a, b))
    fn.template operator()<uint16_t>();
  else
    fn.template operator()<uint8_t>();
}

// A pick's length, and the pick itself where it names a segment.
struct MeasurePick {
  const int64_t *source_offsets, *picks;
  int64_t segments;
  int64_t *safe_picks, *lengths, *broken;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t s = picks[i];
    const bool good = s >= 0 && s < segments;
    safe_picks[i] = good ? s : 0;
    lengths[i] = good ? source_offsets[s + 1] - source_offsets[s] : 0;
    if (!good) *broken = 1;
  }
};

struct StepOffsets {
  const int64_t* offsets;
  int64_t step, rows;
  int64_t* stepped;
  TESSERA_HD void operator()(int64_t s) const {
    const int64_t at = offsets[s * step];
    stepped[s] = at < 0 ? 0 : at > rows ? rows : at;
  }
};

// Reads the number of selected rows from the device, and throws if the input is wrong.
int64_t OutputRowsSync(Context& ctx, const Tensor& offsets, const Tensor& picks,
                       const SelectionParts& parts, const Tensor& end) {
  const int64_t last = offsets.dim(0) - 1, outputs = picks.dim(0);
  ForEach(ctx, last + 1,
          FindBadOffset{offsets.data<int64_t>(), last, parts.source_rows, end.data<int64_t>() + 1});
  const std::vector<int64_t> found = end.ToVector<int64_t>();
  if (found[1] == 0) return outputs == 0 ? 0 : found[0];
  const std::vector<int64_t> host = CheckedOffsets(offsets, "segments");
  if (host.back() != parts.source_rows)
    throw Error(Format("lengths sum to {} for {} values", host.back(), parts.source_rows));
  OutputOffsets(ToInt64(parts.source_offsets), ToInt64(picks));
  TESSERA_FAIL("segments and picks that the device refuses");
}

template <typename Row>
struct MoveRow {
  const Row* from;
  Row* to;
  const void* slots;
  bool wide_slots, take;
  Divider units;
  int64_t from_rows, to_rows;
  TESSERA_HD void operator()(int64_t u) const {
    const auto row_units = static_cast<int64_t>(units.divisor());
    const Divider::Parts row = units.Split(u);
    const int64_t slot = wide_slots ? static_cast<const int64_t*>(slots)[row.quotient]
                                    : static_cast<const int32_t*>(slots)[row.quotient];
    const int64_t in = take ? slot : row.quotient, out = take ? row.quotient : slot;
    const bool is_row = in >= 0 && in < from_rows;
    if (out < 0 || out >= to_rows || (!is_row && !take)) return;
    to[out * row_units + row.rest] = is_row ? from[in * row_units + row.rest] : Row{};
  }
};

// Sums the copies of an element of a source row. The uses of segment s are those whose sorted pick
// is s, in the order of output.
struct AddUses {
  Selection s;
  int64_t segments;
  const uint32_t *sorted_picks, *uses;
  const float* grad;
  float* sum;
  Divider width;
  TESSERA_HD void operator()(int64_t e) const {
    const Divider::Parts row = width.Split(e);
    const int64_t segment = SegmentOf(s.source_offsets, 0, segments - 1, row.quotient);
    const int64_t place = row.quotient - s.source_offsets[segment];
    const auto key = static_cast<uint32_t>(segment);
    float total = 0;
    for (int64_t u = CountBefore(sorted_picks, s.outputs, key, /*or_equal=*/false);
         u < s.outputs && sorted_picks[u] == key; ++u) {
      const int64_t out = s.output_offsets[uses[u]] + place;
      if (out < s.output_rows)
        total += grad[out * static_cast<int64_t>(width.divisor()) + row.rest];
    }
    sum[e] = total;
  }
};

struct NumberPick {
  const int64_t* picks;
  uint32_t *keys, *values;
  TESSERA_HD void operator()(int64_t i) const {
    keys[i] = static_cast<uint32_t>(picks[i]);
    values[i] = static_cast<uint32_t>(i);
  }
};

}  // namespace

SelectionParts MakeSelection(OnCuda, Context& ctx, const Tensor& offsets, int64_t segments,
                             int64_t source_rows, const Tensor& picks,
                             std::optional<int64_t> output_rows) {
  const int64_t step = segments == 0 ? 0 : (offsets.dim(0) - 1) / segments;
  const int64_t outputs = picks.dim(0);
  SelectionParts parts;
  parts.source_rows = source_rows;
  parts.source_offsets = Tensor::Empty(ctx, {segments + 1}, DType::kI64);
  parts.picks = Tensor::Empty(ctx, {outputs}, DType::kI64);
  // The last two elements are the end of the output, and whether something is wrong.
  const Tensor all = Tensor::Zeros(ctx, {outputs + 2}, DType::kI64);
  parts.output_offsets = all.Rows(0, outputs + 1);
  const Tensor lengths = Tensor::Empty(ctx, {outputs}, DType::kI64);
  ForEach(ctx, segments + 1,
          StepOffsets{offsets.data<int64_t>(), step, source_rows,
                      parts.source_offsets.data<int64_t>()});
  ForEach(ctx, outputs,
          MeasurePick{parts.source_offsets.data<int64_t>(), picks.data<int64_t>(), segments,
                      parts.picks.data<int64_t>(), lengths.data<int64_t>(),
                      all.data<int64_t>() + outputs + 1});
  InclusiveSum(ctx, lengths.data<int64_t>(), all.data<int64_t>() + 1, outputs);
  parts.output_rows =
      output_rows ? *output_rows
                  : OutputRowsSync(ctx, offsets, picks, parts, all.Rows(outputs, outputs + 2));
  return parts;
}

void GatherSegments(OnCuda, Context& ctx, const SegmentSelection& selection, const Tensor& from,
                    const Tensor& to) {
  const int64_t row_bytes = RowBytes(from);
  const Selection s(selection);
  if (row_bytes == 0 || s.outputs == 0) return;
  VisitUnit(row_bytes, from, to, [&]<typename Unit>() {
    const int64_t units = row_bytes / static_cast<int64_t>(sizeof(Unit));
    Launch(ctx, GatherKernel<Unit>, BlocksFor(s.output_rows * units, kTile), kThreads, 0, s,
           Divider(static_cast<uint64_t>(units)), static_cast<const Unit*>(from.raw_data()),
           static_cast<Unit*>(to.raw_data()));
  });
}

void AddSegments(OnCuda, Context& ctx, const SegmentSelection& selection, const Tensor& grad,
                 const Tensor& sum) {
  const Selection s(selection);
  const int64_t segments = selection.source_offsets().dim(0) - 1;
  if (sum.numel() == 0) return;
  TESSERA_CHECK(segments < int64_t{1} << 32 && s.outputs < int64_t{1} << 32,
                "{} segments picked {} times: a device numbers them with 32 bits", segments,
                s.outputs);
  const Tensor numbers = Tensor::Empty(ctx, {4, s.outputs}, DType::kI32);
  auto* keys = reinterpret_cast<uint32_t*>(numbers.data<int32_t>());
  ForEach(ctx, s.outputs, NumberPick{s.picks, keys, keys + 2 * s.outputs});
  const SortedPairs<uint32_t> sorted =
      SortPairs(ctx, keys, keys + s.outputs, keys + 2 * s.outputs, keys + 3 * s.outputs, s.outputs,
                std::bit_width(static_cast<uint64_t>(segments)));
  const int64_t width = RowBytes(grad) / SizeOf(grad.dtype());
  ForEach(ctx, sum.numel(),
          AddUses{s, segments, sorted.keys, sorted.values, grad.data<float>(), sum.data<float>(),
                  Divider(static_cast<uint64_t>(width))});
}

void MoveRows(OnCuda, Context& ctx, const Tensor& from, const Tensor& slots, bool take,
              const Tensor& to) {
  const int64_t row_bytes = RowBytes(from);
  if (row_bytes == 0) return;
  const bool wide =
      VisitIndexType(slots.dtype(), "slots", [&]<typename Index>() { return sizeof(Index) == 8; });
  VisitUnit(row_bytes, from, to, [&]<typename Unit>() {
    const int64_t units = row_bytes / static_cast<int64_t>(sizeof(Unit));
    ForEach(ctx, slots.dim(0) * units,
            MoveRow<Unit>{static_cast<const Unit*>(from.raw_data()),
                          static_cast<Unit*>(to.raw_data()), slots.raw_data(), wide, take,
                          Divider(static_cast<uint64_t>(units)), from.dim(0), to.dim(0)});
  });
}

}  // namespace tessera::internal
