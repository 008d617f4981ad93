// Training through a row cache gives the bits of training without one: lookups, weights and states,
// for tiny caches and large ones, with batches prefetched ahead, rows of 32 and 16 bits.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "embedding/cache/row_cache.h"
#include "embedding/update/update.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

constexpr int64_t kRows = 120, kBags = 12;

struct Storage {
  DType row_type = DType::kF32, state_type = DType::kF32;
};

// One table read by two features, of sums and of means.
class Trainee {
 public:
  Trainee(Context& ctx, const AnyRule& rule, int64_t dim, const Storage& storage,
          const CacheConfig* cache)
      : rule_(rule), storage_(storage), dim_(dim) {
    const EmbeddingLocation location =
        cache ? EmbeddingLocation::kManagedCaching : EmbeddingLocation::kDevice;
    const Tensor start = Tensor::Empty(ctx, {kRows, dim});
    Context same({.device = ctx.device(), .threads = 1, .seed = 3});
    same.WaitFor(ctx);
    FillUniform(same, start, -1, 1);
    ctx.WaitFor(same);
    parts_ = {EmptyAt(ctx, location, {kRows, dim}, storage.row_type)};
    parts_[0].CopyFrom(ctx, start.To(ctx, storage.row_type));
    for (const StateSpec& spec : RuleStates(rule)) {
      parts_.push_back(EmptyAt(ctx, location, spec.per_row ? Shape{kRows} : Shape{kRows, dim},
                               spec.counts ? DType::kF32 : storage.state_type));
      parts_.back().Fill(ctx, 0);
    }
    if (cache) cache_ = std::make_unique<RowCache>(ctx, parts_, *cache);
  }

  struct Batch {
    Tensor ids, slots, offsets;
    RowCache::Batch cached;
  };

  Batch Prefetch(Context& ctx, const std::vector<int64_t>& ids,
                 const std::vector<int64_t>& offsets) {
    Batch batch{Tensor::From(ctx, ids), {}, Tensor::From(ctx, offsets), {}};
    if (!cache_) return batch;
    const int64_t middle = offsets[kBags], n = static_cast<int64_t>(ids.size());
    batch.slots = Tensor::Empty(ctx, {n}, DType::kI64);
    const CachedIds features[] = {{batch.ids, 0, middle}, {batch.ids, middle, n}};
    batch.cached = cache_->Prefetch(ctx, features, batch.slots);
    return batch;
  }

  Tensor Forward(Context& ctx, const Batch& batch) {
    const Tensor output = Tensor::Full(ctx, {kBags, 2 * dim_}, -7);
    WithLookup(ctx, batch, output, [&](const LookupArgs& args) { Lookup(ctx, args); });
    return output;
  }

  void Backward(Context& ctx, const Batch& batch, const Tensor& gradient, int64_t step) {
    WithLookup(ctx, batch, gradient, [&](const LookupArgs& args) {
      UpdateTable table = Table([&](int p) { return Part(p); });
      table.features = {0, 1};
      if (cache_) table.rounding.row_ids = cache_->row_ids().data<int64_t>();
      Update(ctx, {args, {&table, 1}, step});
    });
    if (cache_) cache_->Release(ctx, batch.cached, /*updated=*/true);
  }

  void Sweep(Context& ctx, int64_t step) {
    std::vector<UpdateTable> tables = {
        Table([&](int p) { return parts_[static_cast<size_t>(p)]; })};
    if (!cache_) return SweepTables(ctx, tables, step);
    tables.push_back(Table([&](int p) { return Part(p); }));
    cache_->InOrder(ctx, [&] { SweepTables(ctx, tables, step); });
  }

  const std::vector<Tensor>& Parts(Context& ctx) {
    if (cache_) cache_->Flush(ctx);
    return parts_;
  }
  RowCache& cache() { return *cache_; }

 private:
  const Tensor& Part(int p) const {
    return cache_ ? cache_->slots_of_part(p) : parts_[static_cast<size_t>(p)];
  }
  int64_t NumRows() const { return Part(0).dim(0); }
  template <typename PartOf>
  UpdateTable Table(const PartOf& part) const {
    UpdateTable table = {part(0).raw_data(), part(0).dim(0), dim_, {}, &rule_, {}};
    for (int p = 1; p < static_cast<int>(parts_.size()); ++p)
      table.states.push_back(part(p).raw_data());
    table.row_type = storage_.row_type;
    table.state_type = storage_.state_type;
    table.rounding = {.stochastic = storage_.row_type != DType::kF32, .seed = 5};
    return table;
  }

  template <typename Fn>
  void WithLookup(Context& ctx, const Batch& batch, const Tensor& output, Fn&& fn) {
    if (cache_) cache_->Load(ctx, batch.cached);
    std::vector<LookupFeature> features;
    for (const int f : {0, 1})
      features.push_back({.rows = Part(0).raw_data(),
                          .row_type = storage_.row_type,
                          .num_rows = NumRows(),
                          .dim = dim_,
                          .ids = {(cache_ ? batch.slots : batch.ids).raw_data(), true},
                          .first_bag = f * kBags,
                          .num_bags = kBags,
                          .pooling = f == 0 ? PoolingType::kSum : PoolingType::kMean,
                          .output = output.data<float>() + f * dim_,
                          .output_stride = 2 * dim_});
    fn(LookupArgs{features, {batch.offsets.raw_data(), true}, nullptr, batch.ids.numel()});
  }

  AnyRule rule_;
  Storage storage_;
  int64_t dim_;
  std::vector<Tensor> parts_;
  std::unique_ptr<RowCache> cache_;
};

class CachedUpdateTest : public testing::DeviceTest {
 protected:
  struct Case {
    AnyRule rule;
    int64_t dim;
    Storage storage;
    CacheConfig cache;
    int ahead;
  };

  void ExpectSameBits(const Case& c, int steps) {
    Trainee plain(ctx(), c.rule, c.dim, c.storage, nullptr),
        cached(ctx(), c.rule, c.dim, c.storage, &c.cache);
    std::deque<std::pair<Trainee::Batch, Trainee::Batch>> queue;
    for (int step = 1; step <= steps + c.ahead; ++step) {
      if (step <= steps) {
        const auto [ids, offsets] = RandomBags();
        queue.push_back(
            {plain.Prefetch(ctx(), ids, offsets), cached.Prefetch(ctx(), ids, offsets)});
      }
      if (step <= c.ahead) continue;
      const auto [here, there] = std::move(queue.front());
      queue.pop_front();
      plain.Sweep(ctx(), step - c.ahead);
      cached.Sweep(ctx(), step - c.ahead);
      ASSERT_TRUE(SameBits(plain.Forward(ctx(), here), cached.Forward(ctx(), there)))
          << "forward of step " << step - c.ahead;
      const Tensor gradient = Tensor::Empty(ctx(), {kBags, 2 * c.dim});
      FillUniform(ctx(), gradient, -1, 1);
      plain.Backward(ctx(), here, gradient, step - c.ahead);
      cached.Backward(ctx(), there, gradient, step - c.ahead);
    }
    const std::vector<Tensor> expected = plain.Parts(ctx()), got = cached.Parts(ctx());
    for (size_t p = 0; p < expected.size(); ++p)
      ASSERT_TRUE(SameBits(expected[p].To(ctx(), Device::Cpu()), got[p].To(ctx(), Device::Cpu())))
          << "part " << p;
    conflicts_ += cached.cache().StatsSync(ctx()).conflict_misses;
    evictions_ += cached.cache().StatsSync(ctx()).evictions;
    ++cases_;
  }

  // Random ids, skewed: some rows come many times, and some ids name no row.
  std::pair<std::vector<int64_t>, std::vector<int64_t>> RandomBags() {
    std::vector<int64_t> ids, offsets = {0};
    for (int64_t bag = 0; bag < 2 * kBags; ++bag) {
      for (size_t left = random_() % 7; left > 0; --left) {
        const double u = std::uniform_real_distribution<double>(0, 1)(random_);
        ids.push_back(random_() % 20 == 0
                          ? -1
                          : static_cast<int64_t>(static_cast<double>(kRows) * u * u * u));
      }
      offsets.push_back(static_cast<int64_t>(ids.size()));
    }
    return {ids, offsets};
  }

  std::mt19937 random_{20261121};
  int cases_ = 0;
  int64_t conflicts_ = 0, evictions_ = 0;
};

TEST_P(CachedUpdateTest, GivesTheBitsOfTheTableItself) {
  const AnyRule rules[] = {Sgd{0.1f}, Adagrad{0.1f}, RowwiseAdagrad{0.1f}, Adam{0.1f},
                           PartialRowwiseAdam{0.1f}};
  const CacheConfig caches[] = {{.load_factor = 1e-9},  // everything conflicts
                                {.ways = 1, .load_factor = 0.05},
                                {.policy = CachePolicy::kLfu, .ways = 4, .load_factor = 0.2},
                                {.load_factor = 1, .scratch_rows = kRows}};
  const int64_t dims[] = {4, 20, 33, 7};
  int c = 0;
  for (const AnyRule& rule : rules)
    for (const CacheConfig& cache : caches)
      for (const Storage& storage : {Storage{}, {DType::kF16}, {DType::kBF16, DType::kF16}}) {
        ExpectSameBits({rule, dims[c % 4], storage, cache, c % 3}, 6);
        ASSERT_FALSE(HasFailure()) << RuleName(rule) << ", " << ToString(storage.row_type)
                                   << ", ways " << cache.ways << ", ahead " << c % 3;
        ++c;
      }
  EXPECT_GT(conflicts_, 0);
  EXPECT_GT(evictions_, 0);
  std::printf("%d trainings compared bit by bit; %ld conflicts, %ld evictions\n", cases_,
              static_cast<long>(conflicts_), static_cast<long>(evictions_));
}

TEST_P(CachedUpdateTest, ManySteps) {
  ExpectSameBits({RowwiseAdagrad{0.1f}, 16, {}, {.ways = 8, .load_factor = 0.25}, 2}, 60);
  ExpectSameBits(
      {Adam{0.1f}, 8, {DType::kF16}, {.policy = CachePolicy::kLfu, .load_factor = 0.3}, 1}, 60);
}

// Another table goes on from what Flush wrote; its cache forgets what it held.
TEST_P(CachedUpdateTest, GoesOnFromAFlushedTable) {
  const AnyRule rule = Adagrad{0.1f};
  const CacheConfig config = {.ways = 4, .load_factor = 0.1};
  Trainee one(ctx(), rule, 6, {}, &config), other(ctx(), rule, 6, {}, &config);
  const auto train = [&](Trainee& trainee, const auto& bags, const Tensor& gradient) {
    const Trainee::Batch batch = trainee.Prefetch(ctx(), bags.first, bags.second);
    (void)trainee.Forward(ctx(), batch);
    trainee.Backward(ctx(), batch, gradient, 1);
  };
  const auto same = [&] {
    const std::vector<Tensor> a = one.Parts(ctx()), b = other.Parts(ctx());
    return SameBits(a[0].ToHost(), b[0].ToHost()) && SameBits(a[1].ToHost(), b[1].ToHost());
  };
  for (int step = 1; step <= 8; ++step) {
    if (step == 5) {
      ASSERT_FALSE(same());
      const std::vector<Tensor> from = one.Parts(ctx()), to = other.Parts(ctx());
      for (size_t p = 0; p < from.size(); ++p) to[p].CopyFrom(ctx(), from[p]);
      other.cache().Reset(ctx());
    }
    const Tensor gradient = Tensor::Empty(ctx(), {kBags, 12});
    FillUniform(ctx(), gradient, -1, 1);
    const auto bags = RandomBags();
    train(one, bags, gradient);
    train(other, step < 5 ? RandomBags() : bags, gradient);
  }
  EXPECT_TRUE(same());
}

// Rules that change whole tables act on table and slots alike: each row's current copy is changed
// once.
TEST_P(CachedUpdateTest, RulesThatSweepWholeTables) {
  for (const AnyRule& rule : {AnyRule(EmaInPlaceRowwiseAdagrad{.lr = 0.1f, .step_ema = 2}),
                              AnyRule(EnsembleRowwiseAdagrad{.lr = 0.1f, .step_ema = 2})})
    for (const int ahead : {0, 2}) {
      ExpectSameBits({rule, 8, {}, {.ways = 2, .load_factor = 0.1}, ahead}, 12);
      ASSERT_FALSE(HasFailure()) << RuleName(rule) << ", ahead " << ahead;
    }
}

TESSERA_INSTANTIATE_DEVICES(CachedUpdateTest);

}  // namespace
}  // namespace tessera
