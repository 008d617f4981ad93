// The bounds check on a GPU. Findings are told to the host by the smallest place, so that the first
// in the order of the walk is named.
#include <algorithm>

#include "embedding/lookup/bounds_check_impl.h"
#include "embedding/lookup/feature_items.cuh"
#include "runtime/algorithms.h"
#include "runtime/launch.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

using Count = unsigned long long;  // what CUDA's 64-bit atomics take
constexpr Count kNothing = ~Count{0};
constexpr int kThreads = 256;

// ---- ids of features

// found[0]: the smallest feature << 40 | place, its bits turned round, so that 0 is "none";
// found[1 + f]: how many feature f has.
template <typename Id>
struct NoteIllegal {
  const Id* ids;
  Count* found;
  __device__ void operator()(const CheckedSpan& span, int64_t item) const {
    const int64_t place = span.begin + item;
    if (IsLegalId(ids[place], span.rows)) return;
    atomicMax(found, ~(static_cast<Count>(span.feature) << 40 | static_cast<Count>(place)));
    atomicAdd(found + 1 + span.feature, Count{1});
  }
};

template <typename Id>
struct MendIllegal {
  Id* ids;
  __device__ void operator()(const CheckedSpan& span, int64_t item) const {
    Id& id = ids[span.begin + item];
    if (IsLegalId(id, span.rows)) return;
    id = 0;
    if (span.entry != nullptr) atomicAdd(reinterpret_cast<Count*>(span.entry), Count{1});
  }
};
static_assert(kBadIds == 0);

// A warp a feature: it has work in few steps of a training, if in any.
template <int kCapacity>
__global__ void __launch_bounds__(32)
    KeepExamplesKernel(const __grid_constant__ FeatureBatch<CheckedSpan, kCapacity> batch,
                       IndexArray ids, IndexArray offsets) {
  const CheckedSpan& span = batch.features[blockIdx.x];
  if (!WantsExamples(span.entry)) return;
  const int lane = static_cast<int>(threadIdx.x);
  int64_t kept = ExamplesOf(span.entry);
  for (int64_t first = 0; first < span.count && kept < BoundsCheckLog::kExamples; first += 32) {
    const int64_t place = span.begin + first + lane;
    const bool bad = first + lane < span.count && !IsLegalId(ids[place], span.rows);
    const unsigned bad_lanes = __ballot_sync(~0u, bad);
    const int64_t number = kept + __popc(bad_lanes & ((1u << lane) - 1));
    if (bad && number < BoundsCheckLog::kExamples)
      PutExample(span.entry, number, BagOf(span, offsets, place), ids[place]);
    kept += __popc(bad_lanes);
  }
  __syncwarp();  // all lanes have read what was searched
  if (lane == 0) span.entry[kSearched] = span.entry[kBadIds];
}

Count* CountOf(const Tensor& tensor) { return reinterpret_cast<Count*>(tensor.data<int64_t>()); }

// ---- whole batches, offsets too

// Clamps offsets. In the walk of bounds_check.h, offset b becomes the largest of the clamped
// offsets up to b.
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
  Count* log;  // entries, or null

  __device__ void Note(int64_t b, bool is_id, int64_t place) const {
    atomicAdd(findings, Count{1});
    atomicMin(first, static_cast<Count>(b * 2 + is_id) << 32 | static_cast<Count>(place));
    if (log != nullptr)
      atomicAdd(log + b / batch * kLogEntry + (is_id ? kBadIds : kBadOffsets), Count{1});
  }
  __device__ void operator()(int64_t b) const {
    const int64_t start = b == 0 ? static_cast<int64_t>(given[0]) : static_cast<int64_t>(mended[b]),
                  end = b + 1 == last ? n : static_cast<int64_t>(given[b + 1]);
    if (!(0 <= start && start <= end && end <= n)) Note(b, false, 0);
    const int64_t table_rows = rows[b / batch];
    for (int64_t i = mended[b]; i < static_cast<int64_t>(mended[b + 1]); ++i) {
      if (IsLegalId(ids[i], table_rows)) continue;
      Note(b, true, i);
      mended_ids[i] = 0;
    }
  }
};

struct CountLastOffset {
  Count* entry;
  TESSERA_HD void operator()(int64_t) const { ++entry[kBadOffsets]; }
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

// Throws the error of mode FATAL for the first finding.
template <typename Id, typename Offset>
[[noreturn]] void FailOnFirst(Context& ctx, Count first, const Tensor& ids, const Tensor& offsets,
                              const Tensor& mended, std::span<const int64_t> rows, int64_t batch,
                              int64_t findings) {
  const int64_t n = ids.numel(), last = offsets.numel() - 1,
                bag = static_cast<int64_t>(first >> 33),
                place = static_cast<int64_t>(first & 0xffffffff);
  if (first >> 32 & 1)
    FailOnId(bag, batch, ReadScalarSync(ctx, ids.data<Id>() + place), place,
             rows[static_cast<size_t>(bag / batch)], findings);
  FailOnOffsets(bag, At<Offset>(ctx, bag == 0 ? offsets : mended, bag),
                bag + 1 == last ? n : At<Offset>(ctx, offsets, bag + 1), n, findings);
}

// A whole batch on its way through the check.
template <typename Id, typename Offset>
class BatchCheck {
 public:
  BatchCheck(Context& ctx, const Tensor& ids, const Tensor& offsets, std::span<const int64_t> rows)
      : ctx_(ctx),
        ids_(ids),
        offsets_(offsets),
        rows_(rows),
        n_(ids.numel()),
        last_(offsets.numel() - 1),
        batch_(rows.empty() ? 0 : last_ / static_cast<int64_t>(rows.size())),
        mended_(Tensor::Empty(ctx, offsets.shape(), offsets.dtype())),
        mended_ids_(ids.Clone(ctx)) {
    TESSERA_CHECK(last_ < int64_t{1} << 30 && n_ < int64_t{1} << 32,
                  "bounds check on {}: {} bags, {} ids", ctx.device(), last_, n_);
  }

  BoundsCheckResult Run(BoundsCheckMode mode, const BoundsCheckLog& log) {
    Offset* clamped = mended_.template data<Offset>();
    ForEach(ctx_, last_ + 1,
            ClampOffset<Offset>{offsets_.template data<Offset>(), clamped, last_, n_});
    InclusiveMax(ctx_, clamped, clamped, last_ + 1);
    const Tensor counts = Walk(log);
    const int64_t given_last = At<Offset>(ctx_, offsets_, last_);
    if (given_last != n_ && log.defined() && !rows_.empty())
      ForEach(ctx_, 1,
              CountLastOffset{CountOf(log.entries()) +
                              static_cast<int64_t>(rows_.size() - 1) * kLogEntry});
    const std::vector<int64_t> found = counts.ToVector<int64_t>();
    const int64_t findings = found[0] + (given_last != n_);
    if (findings == 0) return {ids_, offsets_};
    if (mode == BoundsCheckMode::kFatal) {
      if (given_last != n_) FailOnLastOffset(given_last, n_, findings);
      FailOnFirst<Id, Offset>(ctx_, static_cast<Count>(found[1]), ids_, offsets_, mended_, rows_,
                              batch_, findings);
    }
    return {mended_ids_, mended_, mode == BoundsCheckMode::kWarning ? findings : 0};
  }

 private:
  // Findings, and the first.
  Tensor Walk(const BoundsCheckLog& log) {
    const Tensor counts = Tensor::From<int64_t>(ctx_, {0, -1}),
                 rows = Tensor::From(ctx_, std::vector<int64_t>(rows_.begin(), rows_.end()));
    const CheckBag<Id, Offset> check = {ids_.template data<Id>(),
                                        offsets_.template data<Offset>(),
                                        mended_.template data<Offset>(),
                                        rows.data<int64_t>(),
                                        mended_ids_.template data<Id>(),
                                        last_,
                                        batch_,
                                        n_,
                                        CountOf(counts),
                                        CountOf(counts) + 1,
                                        log.defined() ? CountOf(log.entries()) : nullptr};
    Launch(ctx_, BagsKernel<CheckBag<Id, Offset>>, BlocksFor(last_, kThreads), dim3(kThreads), 0,
           last_, check);
    return counts;
  }

  Context& ctx_;
  const Tensor &ids_, &offsets_;
  std::span<const int64_t> rows_;
  int64_t n_, last_, batch_;
  Tensor mended_, mended_ids_;
};

}  // namespace

BoundsCheckResult CheckBounds(OnCuda, Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                              const Tensor& offsets, std::span<const int64_t> rows,
                              const BoundsCheckLog& log) {
  return VisitIndexType(ids.dtype(), "ids", [&]<typename Id>() {
    return VisitIndexType(offsets.dtype(), "offsets", [&]<typename Offset>() {
      return BatchCheck<Id, Offset>(ctx, ids, offsets, rows).Run(mode, log);
    });
  });
}

FirstIllegal FindIllegalId(OnCuda on, Context& ctx, const Tensor& ids,
                           std::span<const CheckedSpan> spans) {
  FirstIllegal bad;
  const Tensor found = Tensor::Zeros(ctx, {1 + static_cast<int64_t>(spans.size())}, DType::kI64);
  VisitIndexType(ids.dtype(), "ids", [&]<typename Id>() {
    ForEachItem(on, ctx, spans, 1, NoteIllegal<Id>{ids.data<Id>(), CountOf(found)});
    const auto first = ~static_cast<Count>(ReadScalarSync(ctx, found.data<int64_t>()));
    if (first == kNothing) return;
    bad.feature = static_cast<int64_t>(first >> 40);
    bad.place = static_cast<int64_t>(first & ((Count{1} << 40) - 1));
    bad.id = ReadScalarSync(ctx, ids.data<Id>() + bad.place);
    bad.count = ReadScalarSync(ctx, found.data<int64_t>() + 1 + bad.feature);
  });
  return bad;
}

void MendIds(OnCuda on, Context& ctx, std::span<const CheckedSpan> spans, const Tensor& mended) {
  VisitIndexType(mended.dtype(), "ids", [&]<typename Id>() {
    ForEachItem(on, ctx, spans, 1, MendIllegal<Id>{mended.data<Id>()});
  });
}

void KeepExamples(OnCuda, Context& ctx, const Tensor& ids, IndexArray offsets,
                  std::span<const CheckedSpan> spans) {
  const IndexArray data = {ids.raw_data(), ids.dtype() == DType::kI64};
  ForFeatureBatches(spans, [&]<int kCapacity>(const FeatureBatch<CheckedSpan, kCapacity>& batch,
                                              std::span<const CheckedSpan> part) {
    Launch(ctx, KeepExamplesKernel<kCapacity>, dim3(static_cast<unsigned>(part.size())), dim3(32),
           0, batch, data, offsets);
  });
}

}  // namespace tessera::internal
