#include "bench/lab/lookup_policies.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/numbers/simd.h"

namespace tessera::bench {
namespace {

namespace simd = internal::TESSERA_ISA;
using simd::Pack;
using simd::PrefetchFor;

struct Ours {
  static constexpr int64_t kAhead = 64;
  static constexpr PrefetchFor kInto = PrefetchFor::kToL2;
  static constexpr bool kPastCaches = true;
  static constexpr int kBags = 1;  // summed side by side
};

// The bags of one feature with rows of kPacks packs.
template <typename Policy, int kPacks>
class BagLoop {
 public:
  BagLoop(const LookupFeature& f, IndexArray offsets)
      : f_(f), offsets_(offsets), last_(offsets[f.first_bag + f.num_bags] - 1) {}

  void Run(int64_t begin, int64_t end) const {
    int64_t bag = begin;
    for (; bag + Policy::kBags <= end; bag += Policy::kBags) SumBags<Policy::kBags>(bag);
    for (; bag < end; ++bag) SumBags<1>(bag);
    if (Policy::kPastCaches) simd::StoreFence();
  }

 private:
  static constexpr int64_t kDim = kPacks * Pack::kSize;

  template <int kBags>
  void SumBags(int64_t bag) const {
    Pack sums[kBags][kPacks];
    int64_t longest = 0, at[kBags + 1];
    for (int b = 0; b <= kBags; ++b) at[b] = offsets_[f_.first_bag + bag + b];
    for (int b = 0; b < kBags; ++b) {
      TESSERA_UNROLL
      for (Pack& sum : sums[b]) sum = Pack(0.0f);
      longest = std::max(longest, at[b + 1] - at[b]);
    }
    for (int64_t j = 0; j < longest; ++j) {
      TESSERA_UNROLL
      for (int b = 0; b < kBags; ++b)
        if (at[b] + j < at[b + 1]) Add(at[b] + j, sums[b]);
    }
    for (int b = 0; b < kBags; ++b) Write(sums[b], f_.OutputAt<float>(bag + b));
  }
  __attribute__((always_inline)) void Add(int64_t i, Pack* sum) const {
    if (Policy::kAhead > 0) {
      const int64_t ahead = f_.ids[std::min(i + Policy::kAhead, last_)];
      if (IsRow(ahead, f_.num_rows))
        simd::Prefetch<Policy::kInto>(f_.RowAt<float>(ahead), kDim * long{sizeof(float)});
    }
    const int64_t id = f_.ids[i];
    if (!IsRow(id, f_.num_rows)) return;
    const float* row = simd::Opaque(f_.RowAt<float>(id));
    TESSERA_UNROLL
    for (int k = 0; k < kPacks; ++k) sum[k] = sum[k] + Pack::Load(row + k * Pack::kSize);
  }
  static void Write(const Pack* sum, float* out) {
    const bool stream =
        Policy::kPastCaches && reinterpret_cast<uintptr_t>(out) % (Pack::kSize * 4) == 0;
    TESSERA_UNROLL
    for (int k = 0; k < kPacks; ++k)
      stream ? sum[k].Stream(out + k * Pack::kSize) : sum[k].Store(out + k * Pack::kSize);
  }

  const LookupFeature& f_;
  IndexArray offsets_;
  int64_t last_;
};

// `run` of a BagLoop for the feature's dim.
template <typename Policy>
void RunFeature(const LookupFeature& f, IndexArray offsets, int64_t begin, int64_t end) {
  const auto run = [&]<int kDim>() {
    BagLoop<Policy, kDim / Pack::kSize>(f, offsets).Run(begin, end);
  };
  switch (f.dim) {
    case 16:
      return run.template operator()<16>();
    case 32:
      return run.template operator()<32>();
    case 64:
      return run.template operator()<64>();
    case 128:
      return run.template operator()<128>();
    case 256:
      return run.template operator()<256>();
  }
  TESSERA_FAIL("dim {}; expected 16, 32, 64, 128 or 256", f.dim);
}

template <typename Policy>
void LookupBy(Context& ctx, const LookupArgs& args) {
  constexpr int64_t kGrain = 256;  // bags
  int64_t most = 0;
  for (const LookupFeature& f : args.features) most = std::max(most, f.num_bags);
  const int64_t blocks = (most + kGrain - 1) / kGrain;
  const auto n = static_cast<int64_t>(args.features.size()) * blocks;
  ParallelFor(ctx, n, 1, [&](int64_t first, int64_t stop) {
    for (int64_t i = first; i < stop; ++i) {
      const LookupFeature& f = args.features[static_cast<size_t>(i / blocks)];
      const int64_t begin = i % blocks * kGrain, end = std::min(begin + kGrain, f.num_bags);
      if (begin < end) RunFeature<Policy>(f, args.offsets, begin, end);
    }
  });
}

template <int64_t kIds, PrefetchFor kLevel = PrefetchFor::kToL2>
struct Ahead : Ours {
  static constexpr int64_t kAhead = kIds;
  static constexpr PrefetchFor kInto = kLevel;
};
struct ThroughCaches : Ours {
  static constexpr bool kPastCaches = false;
};
struct TwoBags : Ours {
  static constexpr int kBags = 2;
};

}  // namespace

void LookupAhead0(Context& ctx, const LookupArgs& args) { LookupBy<Ahead<0>>(ctx, args); }
void LookupAhead8(Context& ctx, const LookupArgs& args) { LookupBy<Ahead<8>>(ctx, args); }
void LookupAhead16(Context& ctx, const LookupArgs& args) { LookupBy<Ahead<16>>(ctx, args); }
void LookupAhead256(Context& ctx, const LookupArgs& args) { LookupBy<Ahead<256>>(ctx, args); }
void LookupAhead16L1(Context& ctx, const LookupArgs& args) {
  LookupBy<Ahead<16, PrefetchFor::kRead>>(ctx, args);
}
void LookupAhead64L1(Context& ctx, const LookupArgs& args) {
  LookupBy<Ahead<64, PrefetchFor::kRead>>(ctx, args);
}
void LookupPlainStores(Context& ctx, const LookupArgs& args) { LookupBy<ThroughCaches>(ctx, args); }
void LookupTwoBags(Context& ctx, const LookupArgs& args) { LookupBy<TwoBags>(ctx, args); }

}  // namespace tessera::bench
