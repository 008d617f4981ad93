// The bounds check on a GPU. Findings are told to the host by the smallest place, so that the first
// in the order of the walk is named.
#include <algorithm>

#include "embedding/bounds_check_impl.h"
#include "runtime/algorithms.h"
#include "runtime/launch.cuh"

namespace tessera::internal {
namespace {

using Count = unsigned long long;  // what CUDA's 64-bit atomics take
constexpr Count kNothing = ~Count{0};
constexpr int kThreads = 256, kSpans = 128;

// ---- ids of features

struct Spans {
  struct {
    int64_t begin, end, rows;
  } span[kSpans];
};

// Block row y: feature y. Visit(feature, place, illegal id).
template <typename Id, typename Visit>
__global__ void __launch_bounds__(kThreads)
    VisitIllegalKernel(const __grid_constant__ Spans spans, const Id* ids, Visit visit) {
  const auto& span = spans.span[blockIdx.y];
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = span.begin + static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       i < span.end; i += step)
    if (!IsLegalId(ids[i], span.rows)) visit(blockIdx.y, i);
}

template <typename Id, typename Visit>
void VisitIllegal(Context& ctx, const Tensor& ids, std::span<const CheckedIds> features,
                  const Visit& visit_from) {
  for (size_t first = 0; first < features.size(); first += kSpans) {
    Spans spans;
    const size_t count = std::min<size_t>(kSpans, features.size() - first);
    int64_t longest = 0;
    for (size_t f = 0; f < count; ++f) {
      const CheckedIds& c = features[first + f];
      spans.span[f] = {c.begin, c.end, c.rows};
      longest = std::max(longest, c.end - c.begin);
    }
    if (longest == 0) continue;
    const dim3 blocks(std::min(BlocksFor(longest, kThreads).x, 1024u),
                      static_cast<unsigned>(count));
    const auto visit = visit_from(first);
    Launch(ctx, VisitIllegalKernel<Id, std::decay_t<decltype(visit)>>, blocks, dim3(kThreads), 0,
           spans, ids.data<Id>(), visit);
  }
}

struct NoteFirst {
  Count* first;
  Count first_feature;
  __device__ void operator()(unsigned feature, int64_t place) const {
    atomicMin(first, (first_feature + feature) << 40 | static_cast<Count>(place));
  }
};

template <typename Id>
struct Mend {
  Id* mended;
  Count* warnings;
  __device__ void operator()(unsigned, int64_t place) const {
    mended[place] = 0;
    atomicAdd(warnings, Count{1});
  }
};

Count* CountOf(const Tensor& tensor) { return reinterpret_cast<Count*>(tensor.data<int64_t>()); }

// ---- whole batches, offsets too

// As the walk of bounds_check.h leaves it, offset b is the largest of the clamped offsets up to b.
template <typename Offset>
struct ClampOffset {
  const Offset* in;
  Offset* out;
  int64_t last, n;
  TESSERA_HD void operator()(int64_t b) const {
    const int64_t offset = b == last ? n : static_cast<int64_t>(in[b]);
    out[b] = static_cast<Offset>(offset < 0 ? 0 : offset > n ? n : offset);
  }
};

// Findings of bag b: of its offsets, then of its ids. `first` has the smallest bag·2 + (1 for ids)
// above 32 bits, and the place of the id below.
template <typename Id, typename Offset>
struct CheckBag {
  const Id* ids;
  const Offset *given, *mended;
  const int64_t* rows;
  Id* mended_ids;
  int64_t last, batch, n;
  Count *findings, *first;

  __device__ void Note(int64_t b, int kind, int64_t place) const {
    atomicAdd(findings, Count{1});
    atomicMin(first, static_cast<Count>(b * 2 + kind) << 32 | static_cast<Count>(place));
  }
  __device__ void operator()(int64_t b) const {
    const int64_t start = b == 0 ? static_cast<int64_t>(given[0]) : static_cast<int64_t>(mended[b]),
                  end = b + 1 == last ? n : static_cast<int64_t>(given[b + 1]);
    if (!(0 <= start && start <= end && end <= n)) Note(b, 0, 0);
    const int64_t table_rows = rows[b / batch];
    for (int64_t i = mended[b]; i < static_cast<int64_t>(mended[b + 1]); ++i) {
      if (IsLegalId(ids[i], table_rows)) continue;
      Note(b, 1, i);
      mended_ids[i] = 0;
    }
  }
};

template <typename Fn>
__global__ void __launch_bounds__(kThreads) BagsKernel(int64_t n, Fn fn) {
  const int64_t b = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (b < n) fn(b);
}

template <typename Offset>
int64_t At(Context& ctx, const Tensor& offsets, int64_t i) {
  return ReadScalarSync(ctx, offsets.data<Offset>() + i);
}

// What FATAL says of the first finding.
template <typename Id, typename Offset>
[[noreturn]] void FailOnFirst(Context& ctx, Count first, const Tensor& ids, const Tensor& offsets,
                              const Tensor& mended, std::span<const int64_t> rows, int64_t batch) {
  const int64_t n = ids.numel(), last = offsets.numel() - 1,
                bag = static_cast<int64_t>(first >> 33),
                place = static_cast<int64_t>(first & 0xffffffff);
  if (first >> 32 & 1)
    FailOnId(bag, batch, ReadScalarSync(ctx, ids.data<Id>() + place), place,
             rows[static_cast<size_t>(bag / batch)]);
  FailOnOffsets(bag, At<Offset>(ctx, bag == 0 ? offsets : mended, bag),
                bag + 1 == last ? n : At<Offset>(ctx, offsets, bag + 1), n);
}

template <typename Id, typename Offset>
BoundsCheckResult CheckAll(Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                           const Tensor& offsets, std::span<const int64_t> rows) {
  const int64_t n = ids.numel(), last = offsets.numel() - 1;
  TESSERA_CHECK(last < int64_t{1} << 30 && n < int64_t{1} << 32,
                "bounds check on {}: {} bags, {} ids", ctx.device(), last, n);
  const int64_t given_last = At<Offset>(ctx, offsets, last);
  if (given_last != n && mode == BoundsCheckMode::kFatal) FailOnLastOffset(given_last, n);
  const Tensor mended = Tensor::Empty(ctx, offsets.shape(), offsets.dtype()),
               mended_ids = ids.Clone(ctx),
               table_rows = Tensor::From(ctx, std::vector<int64_t>(rows.begin(), rows.end())),
               counts = Tensor::From<int64_t>(ctx, {0, -1});
  Offset* clamped = mended.data<Offset>();
  ForEach(ctx, last + 1, ClampOffset<Offset>{offsets.data<Offset>(), clamped, last, n});
  InclusiveMax(ctx, clamped, clamped, last + 1);
  const int64_t batch = rows.empty() ? 0 : last / static_cast<int64_t>(rows.size());
  const CheckBag<Id, Offset> check = {ids.data<Id>(),
                                      offsets.data<Offset>(),
                                      clamped,
                                      table_rows.data<int64_t>(),
                                      mended_ids.data<Id>(),
                                      last,
                                      batch,
                                      n,
                                      CountOf(counts),
                                      CountOf(counts) + 1};
  Launch(ctx, BagsKernel<CheckBag<Id, Offset>>, BlocksFor(last, kThreads), dim3(kThreads), 0, last,
         check);
  const std::vector<int64_t> found = counts.ToVector<int64_t>();
  const int64_t findings = found[0] + (given_last != n);
  if (findings == 0) return {ids, offsets};
  if (mode == BoundsCheckMode::kFatal)
    FailOnFirst<Id, Offset>(ctx, static_cast<Count>(found[1]), ids, offsets, mended, rows, batch);
  return {mended_ids, mended, mode == BoundsCheckMode::kWarning ? findings : 0};
}

}  // namespace

BoundsCheckResult CheckBounds(OnCuda, Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                              const Tensor& offsets, std::span<const int64_t> rows) {
  return VisitIndexType(ids.dtype(), "ids", [&]<typename Id>() {
    return VisitIndexType(offsets.dtype(), "offsets", [&]<typename Offset>() {
      return CheckAll<Id, Offset>(ctx, mode, ids, offsets, rows);
    });
  });
}

FirstIllegal FindIllegalId(OnCuda, Context& ctx, const Tensor& ids,
                           std::span<const CheckedIds> features) {
  FirstIllegal bad;
  VisitIndexType(ids.dtype(), "ids", [&]<typename Id>() {
    const Tensor first = Tensor::From<int64_t>(ctx, {-1});
    VisitIllegal<Id>(ctx, ids, features, [&](size_t first_feature) {
      return NoteFirst{CountOf(first), static_cast<Count>(first_feature)};
    });
    const auto place = static_cast<Count>(ReadScalarSync(ctx, first.data<int64_t>()));
    if (place == kNothing) return;
    bad.feature = static_cast<int64_t>(place >> 40);
    bad.place = static_cast<int64_t>(place & ((Count{1} << 40) - 1));
    bad.id = ReadScalarSync(ctx, ids.data<Id>() + bad.place);
  });
  return bad;
}

void MendIds(OnCuda, Context& ctx, const Tensor& ids, std::span<const CheckedIds> features,
             const Tensor& mended, const Tensor& warnings) {
  VisitIndexType(ids.dtype(), "ids", [&]<typename Id>() {
    VisitIllegal<Id>(ctx, ids, features, [&](size_t) {
      return Mend<Id>{mended.data<Id>(), CountOf(warnings)};
    });
  });
}

}  // namespace tessera::internal
