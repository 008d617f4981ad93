// Our lookup with its choices as parameters: how far ahead rows are asked for and into which cache,
// whether sums are written past the caches, and how many bags are summed side by side.
#include <algorithm>

#include "bench/lab/variant.h"
#include "embedding/lookup/lookup.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/numbers/simd.h"

namespace tessera::bench {
namespace {

namespace simd = internal::native;
using simd::Pack;
using simd::PrefetchFor;

struct Policy {
  int64_t ahead = 64;  // ids; 0: nothing is asked for
  bool into_l1 = false, past_caches = true;
};

// The bags of one feature with rows of kPacks packs, kBags of them side by side.
template <int kBags, int kPacks>
class BagLoop {
 public:
  BagLoop(const Policy& policy, const LookupFeature& f, IndexArray offsets)
      : policy_(policy), f_(f), offsets_(offsets), last_(offsets[f.first_bag + f.num_bags] - 1) {}

  void Run(int64_t begin, int64_t end) const {
    int64_t bag = begin;
    for (; bag + kBags <= end; bag += kBags) SumBags<kBags>(bag);
    for (; bag < end; ++bag) SumBags<1>(bag);
    if (policy_.past_caches) simd::StoreFence();
  }

 private:
  static constexpr int64_t kDim = kPacks * Pack::kSize;

  template <int kCount>
  void SumBags(int64_t bag) const {
    Pack sums[kCount][kPacks];
    int64_t longest = 0, at[kCount + 1];
    for (int b = 0; b <= kCount; ++b) at[b] = offsets_[f_.first_bag + bag + b];
    for (int b = 0; b < kCount; ++b) {
      TESSERA_UNROLL
      for (Pack& sum : sums[b]) sum = Pack(0.0f);
      longest = std::max(longest, at[b + 1] - at[b]);
    }
    for (int64_t j = 0; j < longest; ++j) {
      TESSERA_UNROLL
      for (int b = 0; b < kCount; ++b)
        if (at[b] + j < at[b + 1]) Add(at[b] + j, sums[b]);
    }
    for (int b = 0; b < kCount; ++b) Write(sums[b], f_.OutputAt<float>(bag + b));
  }
  __attribute__((always_inline)) void Add(int64_t i, Pack* sum) const {
    if (policy_.ahead > 0) Ask(f_.ids[std::min(i + policy_.ahead, last_)]);
    const int64_t id = f_.ids[i];
    if (!IsRow(id, f_.num_rows)) return;
    const float* row = simd::Opaque(f_.RowAt<float>(id));
    TESSERA_UNROLL
    for (int k = 0; k < kPacks; ++k) sum[k] = sum[k] + Pack::Load(row + k * Pack::kSize);
  }
  __attribute__((always_inline)) void Ask(int64_t id) const {
    if (!IsRow(id, f_.num_rows)) return;
    constexpr long kBytes = kDim * long{sizeof(float)};
    if (policy_.into_l1)
      simd::Prefetch<PrefetchFor::kRead>(f_.RowAt<float>(id), kBytes);
    else
      simd::Prefetch<PrefetchFor::kToL2>(f_.RowAt<float>(id), kBytes);
  }
  void Write(const Pack* sum, float* out) const {
    const bool stream =
        policy_.past_caches && reinterpret_cast<uintptr_t>(out) % (Pack::kSize * 4) == 0;
    TESSERA_UNROLL
    for (int k = 0; k < kPacks; ++k)
      stream ? sum[k].Stream(out + k * Pack::kSize) : sum[k].Store(out + k * Pack::kSize);
  }

  const Policy& policy_;
  const LookupFeature& f_;
  IndexArray offsets_;
  int64_t last_;
};

// A BagLoop for the feature's dim.
template <int kBags>
void RunFeature(const Policy& policy, const LookupFeature& f, IndexArray offsets, int64_t begin,
                int64_t end) {
  const auto run = [&]<int kDim>() {
    BagLoop<kBags, kDim / Pack::kSize>(policy, f, offsets).Run(begin, end);
  };
  if (f.dim == 16) return run.template operator()<16>();
  if (f.dim == 32) return run.template operator()<32>();
  if (f.dim == 64) return run.template operator()<64>();
  if (f.dim == 128) return run.template operator()<128>();
  run.template operator()<256>();
}

template <int kBags>
void LookupBy(const Policy& policy, Context& ctx, const LookupArgs& args) {
  constexpr int64_t kGrain = 256;  // bags
  int64_t most = 0;
  for (const LookupFeature& f : args.features) most = std::max(most, f.num_bags);
  const int64_t blocks = (most + kGrain - 1) / kGrain;
  const auto n = static_cast<int64_t>(args.features.size()) * blocks;
  ParallelFor(ctx, n, 1, [&](int64_t first, int64_t stop) {
    for (int64_t i = first; i < stop; ++i) {
      const LookupFeature& f = args.features[static_cast<size_t>(i / blocks)];
      const int64_t begin = i % blocks * kGrain, end = std::min(begin + kGrain, f.num_bags);
      if (begin < end) RunFeature<kBags>(policy, f, args.offsets, begin, end);
    }
  });
}

KernelFunction<LookupArgs> Make(const Point& point) {
  const Policy policy = {.ahead = point.Int("ahead"),
                         .into_l1 = point.Text("into") == "l1",
                         .past_caches = point.Text("stores") == "past"};
  if (point.Text("bags") == "2")
    return [policy](Context& ctx, const LookupArgs& args) { LookupBy<2>(policy, ctx, args); };
  return [policy](Context& ctx, const LookupArgs& args) { LookupBy<1>(policy, ctx, args); };
}

const RegisterVariant<LookupArgs> kPolicies(
    {.name = "policies",
     .about = "ours, with its choices as parameters",
     .parameters =
         {{"ahead", {"64"}, "ids ahead that rows are asked for", WholeFrom(0, 1 << 20)},
          {"into", {"l2"}, "the cache they are asked into: l2 or l1", OneOf({"l2", "l1"})},
          {"stores", {"past"}, "sums past the caches, or through them", OneOf({"past", "through"})},
          {"bags", {"1"}, "bags summed side by side", OneOf({"1", "2"})}}},
    Make);

}  // namespace
}  // namespace tessera::bench
