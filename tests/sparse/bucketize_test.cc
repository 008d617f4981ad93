#include "sparse/ids/bucketize.h"

#include <gtest/gtest.h>

#include "sparse/ids/bucketize_placers.h"
#include "tests/sparse/random_kjt.h"
#include "tests/testing/devices.h"
#include "tests/testing/finite_differences.h"
#include "tests/testing/isa_levels.h"

namespace tessera {
namespace {

class BucketizeTest : public testing::DeviceTest {};

using Longs = std::vector<int64_t>;
using testing::RandomLengths;

struct Placed {
  int64_t bucket, id;
};

// The formulas of the header, one id at a time.
class Placer {
 public:
  explicit Placer(const BlockBucketizeArgs& args)
      : my_size_(args.my_size), sizes_(ToInt64(args.block_sizes)) {
    totals_.assign(sizes_.size(), my_size_);
    if (args.total_num_blocks.defined()) totals_ = ToInt64(args.total_num_blocks);
    for (const Tensor& pos : args.block_bucketize_pos) boundaries_.push_back(ToInt64(pos));
  }
  Placed operator()(size_t feature, int64_t id) const;

 private:
  int64_t my_size_;
  Longs sizes_, totals_;
  std::vector<Longs> boundaries_;
};

Placed Placer::operator()(size_t feature, int64_t id) const {
  const auto u = static_cast<unsigned __int128>(static_cast<uint64_t>(id));
  const auto w = static_cast<unsigned __int128>(my_size_);
  const auto k = static_cast<unsigned __int128>(sizes_[feature]);
  const auto g = static_cast<unsigned __int128>(totals_[feature]);
  const auto make = [](unsigned __int128 bucket, unsigned __int128 new_id) {
    return Placed{static_cast<int64_t>(bucket),
                  static_cast<int64_t>(static_cast<uint64_t>(new_id))};
  };
  if (boundaries_.empty()) {
    if (u < k * g) return make(u / (k * g / w), u % (k * g / w));
    return make(u % g / (g / w), u / g);
  }
  const Longs& pos = boundaries_[feature];
  const auto x = k == 0 ? u % g * static_cast<unsigned __int128>(pos.back()) / g : u;
  int64_t lb = 0;
  while (lb + 1 < static_cast<int64_t>(pos.size()) &&
         static_cast<unsigned __int128>(pos[static_cast<size_t>(lb) + 1]) <= x)
    ++lb;
  const bool inside = lb < my_size_;
  const auto bucket = inside ? static_cast<unsigned __int128>(lb) : u % w;
  if (k == 0) return make(bucket, u / g);
  return make(bucket,
              inside ? u - static_cast<unsigned __int128>(pos[static_cast<size_t>(lb)]) : u / w);
}

void ExpectSame(Context& ctx, const BlockBucketizeArgs& args, const Longs& batch) {
  const Bucketized got = BlockBucketizeSparseFeatures(ctx, args);
  const Longs lengths = ToInt64(args.lengths), ids = ToInt64(args.indices);
  const size_t bags = lengths.size(), buckets = static_cast<size_t>(args.my_size);
  std::vector<Longs> from(buckets * bags);  // positions in the input, bucket-major
  std::vector<int64_t> new_ids(ids.size()), place(ids.size());
  std::vector<bool> kept;
  if (args.keep_orig_idx_per_feature.defined())
    kept = args.keep_orig_idx_per_feature.ToVector<bool>();
  std::vector<float> weights;
  if (args.weights.defined()) weights = args.weights.value().ToVector<float>();
  const Placer place_id(args);
  size_t feature = 0, bag = 0, i = 0;
  for (int64_t b = 0; bag < bags; ++bag, ++b) {
    while (b == batch[feature]) b = 0, ++feature;
    for (int64_t p = 0; p < lengths[bag]; ++p, ++i) {
      const Placed placed = place_id(feature, ids[i]);
      bool keep = args.keep_orig_idx;
      if (args.keep_orig_idx_per_feature.defined()) keep = kept[feature];
      from[static_cast<size_t>(placed.bucket) * bags + bag].push_back(static_cast<int64_t>(i));
      new_ids[i] = keep ? ids[i] : placed.id;
      place[i] = p;
    }
  }
  Longs expected_lengths, expected_ids, expected_pos, slots(ids.size());
  std::vector<float> expected_weights;
  for (const Longs& segment : from) {
    expected_lengths.push_back(static_cast<int64_t>(segment.size()));
    for (int64_t at : segment) {
      const auto j = static_cast<size_t>(at);
      slots[j] = static_cast<int64_t>(expected_ids.size());
      expected_ids.push_back(new_ids[j]);
      expected_pos.push_back(place[j]);
      if (args.weights.defined()) expected_weights.push_back(weights[j]);
    }
  }
  EXPECT_EQ(ToInt64(got.lengths), expected_lengths);
  EXPECT_EQ(got.lengths.dtype(), args.lengths.dtype());
  EXPECT_EQ(ToInt64(got.indices),
            ToInt64(Tensor::From(ctx, expected_ids).To(ctx, args.indices.dtype())));
  if (args.bucketize_pos) {
    EXPECT_EQ(ToInt64(got.pos), expected_pos);
  }
  EXPECT_EQ(got.pos.defined(), args.bucketize_pos);
  EXPECT_EQ(got.unbucketize_permute.defined(), args.sequence);
  if (args.sequence) {
    EXPECT_EQ(ToInt64(got.unbucketize_permute), slots);
  }
  EXPECT_EQ(got.weights.defined(), args.weights.defined());
  if (args.weights.defined()) {
    EXPECT_EQ(got.weights.value().ToVector<float>(), expected_weights);
  }
}

TEST_P(BucketizeTest, AgreesWithTheFormulas) {
  std::mt19937 random(17);
  Context& ctx = this->ctx();
  for (int round = 0; round < (on_cpu() ? 200 : 60); ++round) {
    SCOPED_TRACE(round);
    const size_t features = 1 + random() % 4;
    BlockBucketizeArgs args;
    args.my_size = static_cast<int64_t>(1 + random() % 5);
    Longs batch(features, static_cast<int64_t>(random() % 40)), sizes(features), blocks(features);
    if (round % 2) {
      batch = RandomLengths(random, static_cast<int64_t>(features), 30);
      args.batch_size_per_feature = Tensor::From(ctx, batch);
    }
    const Longs lengths = RandomLengths(random, HostOffsets(batch).back(), 5);
    Longs ids(static_cast<size_t>(HostOffsets(lengths).back()));
    const int64_t span =
        std::array<int64_t, 4>{5, 100, int64_t{1} << 33, int64_t{1} << 62}[random() % 4];
    for (int64_t& id : ids)
      id = static_cast<int64_t>((static_cast<uint64_t>(random()) << 32 | random()) %
                                static_cast<uint64_t>(span)) -
           (random() % 8 == 0);
    for (size_t f = 0; f < features; ++f) {
      sizes[f] = static_cast<int64_t>(random() % 3 ? random() % 50 : random());
      blocks[f] = args.my_size * static_cast<int64_t>(1 + random() % 3);
    }
    const DType index = round % 3 && span < 1000 ? DType::kI32 : DType::kI64;
    args.lengths = Tensor::From(ctx, lengths).To(ctx, round % 5 ? DType::kI32 : DType::kI64);
    args.indices = Tensor::From(ctx, ids).To(ctx, index);
    args.block_sizes = Tensor::From(ctx, sizes);
    args.bucketize_pos = random() % 2;
    args.sequence = random() % 2;
    args.keep_orig_idx = random() % 3 == 0;
    if (random() % 2) args.total_num_blocks = Tensor::From(ctx, blocks);
    if (random() % 2) args.weights = testing::RandomTensor(ctx, {static_cast<int64_t>(ids.size())});
    if (random() % 3 == 0) {
      std::vector<bool> keep;
      for (size_t f = 0; f < features; ++f) keep.push_back(random() % 2);
      args.keep_orig_idx_per_feature = Tensor::From(ctx, keep);
    }
    if (random() % 3 == 0)
      for (size_t f = 0; f < features; ++f) {
        Longs cuts = HostOffsets(RandomLengths(random, args.my_size + 1, 30));
        cuts.resize(std::max<size_t>(2, cuts.size() - random() % 2));
        args.block_bucketize_pos.push_back(Tensor::From(ctx, cuts));
      }
    ExpectSame(ctx, args, batch);
  }
}

// Few even buckets are dealt out without divisions: bags of all lengths, some longer than a block,
// with and without an id that lies past the last bucket.
TEST_P(BucketizeTest, EvenBucketsOnEveryInstructionSet) {
  std::mt19937_64 random(29);
  Context& ctx = this->ctx();
  const std::vector<IsaLevel> levels =
      on_cpu() ? testing::IsaLevels() : std::vector{IsaLevel::kBaseline};
  const Longs sizes = {7, 1000, int64_t{1} << 59}, lengths = {0, 5000, 3, 1, 0, 70, 8, 64, 2, 0};
  for (const int64_t buckets : {1, 2, 3, 4, 8, 15, 16, 17})
    for (size_t k = 0; k < 12; ++k) {
      SCOPED_TRACE(::testing::Message() << buckets << " buckets, variant " << k);
      const int64_t size = sizes[k % 3];
      const uint64_t end = static_cast<uint64_t>(size) * static_cast<uint64_t>(buckets);
      Longs ids(static_cast<size_t>(HostOffsets(lengths).back()));
      for (int64_t& id : ids) id = static_cast<int64_t>(random() % end);
      if (k % 4 == 3) ids[random() % ids.size()] = -1;
      BlockBucketizeArgs args{.lengths = Tensor::From(ctx, lengths),
                              .indices = Tensor::From(ctx, ids),
                              .block_sizes = Tensor::From(ctx, Longs{size, size}),
                              .my_size = buckets,
                              .sequence = k % 2 == 0,
                              .keep_orig_idx = k >= 6};
      if (size < 5000) args.indices = args.indices.To(ctx, k % 2 ? DType::kI32 : DType::kI64);
      if (k >= 9) args.lengths = args.lengths.To(ctx, DType::kI32);
      for (const IsaLevel level : levels) {
        const testing::ScopedIsa isa(level);
        ExpectSame(ctx, args, {5, 5});
      }
    }
}

TEST_P(BucketizeTest, CyclicBuckets) {
  Context& ctx = this->ctx();
  const Bucketized got = BucketizeSparseFeatures(
      ctx, Tensor::From(ctx, Longs{3, 0, 2}), Tensor::From(ctx, Longs{7, 2, 3, 4, 6}), 3, true,
      Tensor::From(ctx, std::vector<float>{1, 2, 3, 4, 5}));
  EXPECT_EQ(ToInt64(got.lengths), (Longs{1, 0, 1, 1, 0, 1, 1, 0, 0}));
  EXPECT_EQ(ToInt64(got.indices), (Longs{1, 2, 2, 1, 0}));
  EXPECT_EQ(ToInt64(got.pos), (Longs{2, 1, 0, 0, 1}));
  EXPECT_EQ(got.weights.value().ToVector<float>(), (std::vector<float>{3, 5, 1, 4, 2}));
  EXPECT_FALSE(got.unbucketize_permute.defined());
}

TEST(DividerTest, IsExact) {
  std::mt19937_64 random(19);
  for (int i = 0; i < 200000; ++i) {
    const uint64_t d = std::max<uint64_t>(1, random() >> random() % 64);
    const uint64_t u = random() >> random() % 64;
    ASSERT_EQ(internal::Divider(d)(u), u / d) << u << " / " << d;
    ASSERT_EQ(internal::Divider(d)(d * 3 - 1), (d * 3 - 1) / d) << d;
  }
}

TEST_P(BucketizeTest, SameForAnyNumberOfThreads) {
  std::mt19937 random(23);
  Context one({.device = device(), .threads = 1}), many({.device = device(), .threads = 4});
  const Longs lengths = RandomLengths(random, 4000, 8);
  Longs ids(static_cast<size_t>(HostOffsets(lengths).back()));
  for (int64_t& id : ids) id = random() % 1000;
  const BlockBucketizeArgs args{.lengths = Tensor::From(one, lengths),
                                .indices = Tensor::From(one, ids),
                                .block_sizes = Tensor::From(one, Longs{100, 200}),
                                .my_size = 4,
                                .sequence = true};
  const Bucketized a = BlockBucketizeSparseFeatures(one, args),
                   b = BlockBucketizeSparseFeatures(many, args);
  EXPECT_TRUE(SameBits(a.indices, b.indices));
  EXPECT_TRUE(SameBits(a.unbucketize_permute, b.unbucketize_permute));
}

TEST_P(BucketizeTest, WeightsCarryGradientsBack) {
  Context& ctx = this->ctx();
  const BlockBucketizeArgs args{.lengths = Tensor::From(ctx, Longs{2, 3}),
                                .indices = Tensor::From(ctx, Longs{3, 0, 1, 9, 2}),
                                .block_sizes = Tensor::From(ctx, Longs{2}),
                                .my_size = 2};
  for (const Shape& shape : {Shape{5}, Shape{5, 2}})
    testing::ExpectGradient(ctx,
                            [&](Context& c, const std::vector<Variable>& in) {
                              auto with = args;
                              with.weights = in[0];
                              return BlockBucketizeSparseFeatures(c, with).weights;
                            },
                            {testing::RandomTensor(ctx, shape)});
}

TEST_P(BucketizeTest, Errors) {
  Context& ctx = this->ctx();
  const BlockBucketizeArgs good{.lengths = Tensor::From(ctx, Longs{1, 2}),
                                .indices = Tensor::From(ctx, Longs{3, 0, 1}),
                                .block_sizes = Tensor::From(ctx, Longs{2, 2}),
                                .my_size = 2};
  BlockBucketizeSparseFeatures(ctx, good);
  const auto refused = [&](auto change) {
    auto args = good;
    change(args);
    EXPECT_THROW(BlockBucketizeSparseFeatures(ctx, args), Error);
  };
  // Only a CPU reports these errors; a device stays within its memory.
  const auto malformed = [&](auto change) {
    if (on_cpu()) return refused(change);
    auto args = good;
    change(args);
    args.sequence = args.bucketize_pos = true;
    BlockBucketizeSparseFeatures(ctx, args);
    ctx.Sync();
  };
  refused([](auto& a) { a.my_size = 0; });
  refused([](auto& a) { a.my_size = int64_t{1} << 62; });
  malformed([&](auto& a) { a.lengths = Tensor::From(ctx, Longs{1, 1}); });
  malformed([&](auto& a) { a.lengths = Tensor::From(ctx, Longs{4, -1}); });
  malformed([&](auto& a) { a.lengths = Tensor::From(ctx, Longs{-9, 99}); });
  refused([&](auto& a) { a.indices = Tensor::Zeros(ctx, {3}); });
  malformed([&](auto& a) { a.block_sizes = Tensor::From(ctx, Longs{2, -2}); });
  refused([&](auto& a) { a.block_sizes = Tensor::From(ctx, Longs{2, 2, 2}); });
  refused([&](auto& a) { a.block_sizes = Tensor::Zeros(ctx, {2}); });
  refused([&](auto& a) { a.keep_orig_idx_per_feature = Tensor::Zeros(ctx, {2}); });
  refused([&](auto& a) { a.weights = Tensor::Zeros(ctx, {2}); });
  malformed([&](auto& a) { a.batch_size_per_feature = Tensor::From(ctx, Longs{2, 1}); });
  malformed([&](auto& a) { a.total_num_blocks = Tensor::From(ctx, Longs{3, 2}); });
  malformed([&](auto& a) { a.total_num_blocks = Tensor::From(ctx, Longs{0, -2}); });
  refused([&](auto& a) { a.block_bucketize_pos = {Tensor::From(ctx, Longs{0, 2})}; });
  malformed([&](auto& a) { a.block_bucketize_pos.assign(2, Tensor::From(ctx, Longs{0, 2, 1})); });
  malformed([&](auto& a) { a.block_bucketize_pos.assign(2, Tensor::From(ctx, Longs{7, -2, 1})); });
  refused([&](auto& a) { a.block_bucketize_pos.assign(2, Tensor::From(ctx, Longs{0})); });
  refused(
      [&](auto& a) { a.keep_orig_idx_per_feature = Tensor::From(ctx, std::vector<bool>{true}); });
  EXPECT_THROW(BucketizeSparseFeatures(ctx, good.lengths, good.indices, 0), Error);
}

TESSERA_INSTANTIATE_DEVICES(BucketizeTest);

}  // namespace
}  // namespace tessera
