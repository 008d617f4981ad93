#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_ADMISSION_CUDA_CUH_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_ADMISSION_CUDA_CUH_
// Admission to a growing index on a GPU (admit_after above 1). Occurrences of ids without a row are
// sorted by their line of the sketch; a thread takes all of a line, in their order, so that counts
// are those of one thread that takes all ids in turn. For .cu files.
#include <algorithm>
#include <bit>
#include <cstddef>

#include "embedding/managed_collision/growing_rows_cuda.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {

// Keys of occurrences: their line, or behind all lines for ids with a row.
struct LineKey {
  IndexArray ids;
  const uint8_t* missing;
  SketchLines sketch;
  uint64_t* keys;
  uint32_t* places;
  TESSERA_HD void operator()(int64_t i) const {
    keys[i] = missing[i] != 0 ? sketch.LineOf(HashId(ids[i])) : sketch.count;
    places[i] = static_cast<uint32_t>(i);
  }
};

// The sorted occurrences.
struct LineRuns {
  const uint64_t* keys;
  const uint32_t* places;
  int64_t n;
  uint64_t lines;
  TESSERA_HD bool Begins(int64_t k) const {
    return keys[k] < lines && (k == 0 || keys[k - 1] != keys[k]);
  }
  TESSERA_HD bool Has(int64_t begin, int64_t k) const { return k < n && keys[k] == keys[begin]; }
};

// Counts a line's occurrences until their id is admitted; from there on they claim a row.
struct AdmitLine {
  LineRuns runs;
  IdClaims claims;
  SketchLines sketch;
  int64_t admit_after;
  Count* adds;
  __device__ void operator()(int64_t begin) const {
    if (!runs.Begins(begin)) return;
    Count added = 0;
    for (int64_t k = begin; runs.Has(begin, k); ++k) {
      const int64_t i = runs.places[k], id = claims.ids[i];
      if (!claims.HasClaim(id)) {
        ++added;
        if (sketch.Add(HashId(id)) < admit_after) continue;
      }
      claims.Claim(i);
    }
    atomicAdd(adds, added);
  }
};

// Counts a line's occurrences where ids that were admitted may have no row: these are counted each
// time they come.
struct CountLine {
  LineRuns runs;
  IdClaims claims;
  SketchLines sketch;
  const int64_t* rows;
  Count* adds;
  __device__ void operator()(int64_t begin) const {
    if (!runs.Begins(begin)) return;
    Count added = 0;
    for (int64_t k = begin; runs.Has(begin, k); ++k) {
      const int64_t i = runs.places[k];
      if (rows[i] >= 0 && claims.First(i) != i) continue;
      ++added;
      sketch.Add(HashId(claims.ids[i]));
    }
    atomicAdd(adds, added);
  }
};

struct HalveLine {
  SketchLines sketch;
  const int64_t *before, *adds;
  TESSERA_HD void operator()(int64_t t) const {
    const auto from = static_cast<uint64_t>(*before), to = static_cast<uint64_t>(*adds);
    const auto number = static_cast<uint64_t>(t);
    if (number < sketch.Due(from, to)) sketch.Halve(from, to, number);
  }
};

// The admission of one call.
class Admission {
 public:
  // missing: u8 [N], whether an id has no row.
  Admission(Context& ctx, GrowingRows* rows, const Tensor& ids, const Tensor& missing,
            int64_t admit_after)
      : rows_(rows),
        admit_after_(admit_after),
        occurrences_(ctx, ids.numel()),
        before_(Adds().Clone(ctx)) {
    const SketchLines sketch = Lines(rows->sketch);
    ForEach(ctx, occurrences_.size(),
            LineKey{ArrayOf(ids), missing.data<uint8_t>(), sketch, occurrences_.keys(),
                    occurrences_.numbers()});
    occurrences_.Sort(ctx, std::bit_width(sketch.count));
  }

  // Lets occurrences claim whose ids are admitted, as if there were rows for all. `counts`: the
  // sketch keeps what was counted; else CountAgain follows.
  void Claim(Context& ctx, const IdClaims& claims, bool counts) const {
    const Tensor sketch = counts ? rows_->sketch : rows_->sketch.Clone(ctx),
                 adds = counts ? Adds() : Adds().Clone(ctx);
    ForEach(ctx, occurrences_.size(),
            AdmitLine{Runs(), claims, Lines(sketch), admit_after_, CountOf(adds)});
  }
  // Counts where rows, i64 [N], say which claims got one.
  void CountAgain(Context& ctx, const IdClaims& claims, const Tensor& rows) const {
    ForEach(ctx, occurrences_.size(),
            CountLine{Runs(), claims, Lines(rows_->sketch), rows.data<int64_t>(), CountOf(Adds())});
  }
  // FrequencySketch::Fade.
  void Fade(Context& ctx) const {
    const SketchLines sketch = Lines(rows_->sketch);
    const auto most = static_cast<int64_t>(
        std::min(sketch.Due(0, static_cast<uint64_t>(occurrences_.size())) + 1, sketch.count));
    ForEach(ctx, most, HalveLine{sketch, before_.data<int64_t>(), Adds().data<int64_t>()});
  }

 private:
  SketchLines Lines(const Tensor& counters) const {
    return {counters.data<uint8_t>(), static_cast<uint64_t>(counters.numel()) / SketchLines::kBytes,
            SketchLines::AddsBits(admit_after_)};
  }
  static Count* CountOf(const Tensor& number) {
    return reinterpret_cast<Count*>(number.data<int64_t>());
  }
  Tensor Adds() const {
    constexpr int64_t kAt = offsetof(GrowingNumbers, adds) / sizeof(int64_t);
    return rows_->numbers.Rows(kAt, kAt + 1);
  }
  LineRuns Runs() const {
    return {occurrences_.keys(), occurrences_.numbers(), occurrences_.size(),
            Lines(rows_->sketch).count};
  }

  GrowingRows* rows_;
  int64_t admit_after_;
  KeyedNumbers occurrences_;
  Tensor before_;  // i64 [1]: Adds before this call
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_GROWING_ADMISSION_CUDA_CUH_
