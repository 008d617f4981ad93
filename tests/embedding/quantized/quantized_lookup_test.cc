// A lookup from stored rows has the bits of a lookup from the same rows decoded, for any mix of
// codecs in one call, on every device and instruction set.
#include "embedding/quantized/quantized_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/testing/devices.h"
#include "tests/testing/isa_levels.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const char* const kCodecs[] = {"f32",       "f16",        "bf16",          "hfp8",
                               "e4m3",      "e5m2",       "int8",          "int4",
                               "int2",      "int8_exact", "int8_tail",     "int4_tail",
                               "int2_tail", "int8_f32",   "int8_f32_tail", "mx4"};

struct Shape3 {
  int64_t dim, alignment;
  int batch, mean_length;
};

// A table and a feature of it for each codec, in host memory and on the test's device.
class QuantizedLookupTest : public testing::DeviceTest {
 protected:
  void Make(const std::vector<std::string>& codecs, const Shape3& shape, PoolingType pooling) {
    shape_ = shape;
    pooling_ = pooling;
    tables_.clear();
    for (const std::string& name : codecs)
      tables_.push_back(MakeTable({ParseRowCodec(name).type, shape.alignment}));
    MakeIds(static_cast<int64_t>(codecs.size()));
  }

  // Looks all features up; outputs lie side by side, or below each other.
  Tensor Run(Context& ctx, bool decoded, DType output_type, bool weighted) {
    const Device device = ctx.device();
    const Tensor ids = ids_.To(ctx, device), offsets = offsets_.To(ctx, device),
                 weights = weights_.To(ctx, device);
    const auto count = static_cast<int64_t>(tables_.size());
    const bool sequence = pooling_ == PoolingType::kNone;
    const int64_t dim = shape_.dim, n = ids.numel();
    const Tensor out = sequence ? Tensor::Full(ctx, {n, dim}, -7, output_type)
                                : Tensor::Full(ctx, {shape_.batch, count * dim}, -7, output_type);
    std::vector<QuantizedLookupFeature> features;
    std::vector<Tensor> held;
    for (int64_t t = 0; t < count; ++t) {
      const Table& table = tables_[static_cast<size_t>(t)];
      held.push_back((decoded ? table.decoded : table.stored).To(ctx, device));
      QuantizedLookupFeature f;
      f.rows = held.back().raw_data();
      f.layout = LayoutOf(table.codec, dim);
      f.num_rows = kRows;
      f.dim = dim;
      f.ids = {ids.raw_data(), true};
      f.first_bag = t * shape_.batch;
      f.num_bags = shape_.batch;
      f.pooling = pooling_;
      f.output_type = output_type;
      f.output_stride = sequence ? dim : count * dim;
      f.output = static_cast<char*>(out.raw_data()) +
                 (sequence ? first_ids_[static_cast<size_t>(t)] : t) * dim * SizeOf(output_type);
      features.push_back(f);
    }
    const IndexArray bags = {offsets.raw_data(), false};
    const float* w = weighted ? weights.data<float>() : nullptr;
    if (decoded) {
      const std::vector<LookupFeature> plain(features.begin(), features.end());
      Lookup(ctx, {plain, bags, w, n});
    } else {
      QuantizedLookup(ctx, {features, bags, w, n});
    }
    return out.ToHost();
  }

  void ExpectDecodedBits(DType output_type, bool weighted) {
    Tensor expected;
    {
      const testing::ScopedIsa isa(IsaLevel::kBaseline);
      expected = Run(host_, true, output_type, weighted);
    }
    for (const IsaLevel level : testing::IsaLevels()) {
      if (!on_cpu() && level != IsaLevel::kBaseline) continue;
      const testing::ScopedIsa isa(level);
      ASSERT_TRUE(SameBits(Run(ctx(), false, output_type, weighted), expected))
          << Format("dim {} alignment {} pooling {} output {} weighted {} {}", shape_.dim,
                    shape_.alignment, pooling_, output_type, weighted, level);
    }
  }

  static constexpr int64_t kRows = 30;
  struct Table {
    RowCodec codec;
    Tensor stored, decoded;  // host
  };

  Table MakeTable(const RowCodec& codec) {
    std::vector<float> x(static_cast<size_t>(kRows * shape_.dim));
    std::normal_distribution<float> normal;
    for (float& value : x) value = normal(random_);
    const Tensor stored = EncodeRows(host_, codec, Tensor::From(host_, {kRows, shape_.dim}, x));
    return {codec, stored, DecodeRows(host_, codec, stored, shape_.dim)};
  }
  // Some ids name no row; some bags are empty, one is long.
  void MakeIds(int64_t tables) {
    std::vector<int64_t> ids;
    std::vector<int32_t> offsets = {0};
    first_ids_.clear();
    for (int64_t bag = 0; bag < tables * shape_.batch; ++bag) {
      if (bag % shape_.batch == 0) first_ids_.push_back(offsets.back());
      const auto length =
          static_cast<int>(random_() % static_cast<unsigned>(2 * shape_.mean_length));
      for (int i = 0; i < (bag == 3 ? 20 * length : length); ++i)
        ids.push_back(static_cast<int64_t>(random_() % (kRows + 2)) - 1);
      offsets.push_back(static_cast<int32_t>(ids.size()));
    }
    std::vector<float> weights;
    for (size_t i = 0; i < ids.size(); ++i)
      weights.push_back(0.1f * static_cast<float>(i % 23) - 1);
    ids_ = Tensor::From(host_, ids);
    offsets_ = Tensor::From(host_, offsets);
    weights_ = Tensor::From(host_, weights);
  }

  Context host_{{.threads = 1}};
  std::mt19937 random_{5};
  Shape3 shape_;
  PoolingType pooling_ = PoolingType::kSum;
  std::vector<Table> tables_;
  Tensor ids_, offsets_, weights_;
  std::vector<int64_t> first_ids_;
};

const std::vector<std::string> kAll(std::begin(kCodecs), std::end(kCodecs));

TEST_P(QuantizedLookupTest, EveryCodecPoolingAndWeight) {
  for (const PoolingType pooling : {PoolingType::kSum, PoolingType::kMean, PoolingType::kNone})
    for (const int64_t dim : {8, 32, 72}) {
      Make(kAll, {dim, 16, 6, 4}, pooling);
      ExpectDecodedBits(DType::kF32, false);
      if (pooling != PoolingType::kNone) ExpectDecodedBits(DType::kF32, true);
    }
}

TEST_P(QuantizedLookupTest, DimsThatFillNoRegisterAndRowsWithoutPadding) {
  const std::vector<std::string> any_dim = {"f32",      "f16",  "bf16",         "hfp8",
                                            "e4m3",     "e5m2", "int8",         "int8_exact",
                                            "int8_f32", "mx4",  "int8_f32_tail"};
  for (const int64_t dim : {1, 3, 19, 45, 300})
    for (const PoolingType pooling : {PoolingType::kMean, PoolingType::kNone}) {
      Make(any_dim, {dim, 1, 4, 3}, pooling);
      ExpectDecodedBits(DType::kF32, pooling == PoolingType::kMean);
    }
  for (const int64_t dim : {4, 12, 36, 520}) {
    Make({"int4", "int2", "int8"}, {dim, 1, 4, 3}, PoolingType::kSum);
    ExpectDecodedBits(DType::kF32, true);
    Make({"int4", "int2", "int8"}, {dim, 1, 4, 3}, PoolingType::kNone);
    ExpectDecodedBits(DType::kF32, false);
  }
}

// Rows of mx4 that no encoder of ours wrote: every code, and exponents down to denormal numbers.
TEST_P(QuantizedLookupTest, Mx4RowsOfAnyBytes) {
  for (const int64_t dim : {16, 45, 64, 300})
    for (const PoolingType pooling : {PoolingType::kSum, PoolingType::kNone}) {
      Make({"mx4"}, {dim, 1, 4, 3}, pooling);
      Table& table = tables_[0];
      std::vector<uint8_t> bytes = table.stored.ToVector<uint8_t>();
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random_() % 240);
      table.stored = Tensor::From(host_, table.stored.shape(), bytes);
      table.decoded = DecodeRows(host_, table.codec, table.stored, dim);
      ExpectDecodedBits(DType::kF32, false);
      if (pooling != PoolingType::kNone) ExpectDecodedBits(DType::kF32, true);
    }
}

TEST_P(QuantizedLookupTest, OutputsOf16Bits) {
  for (const DType type : {DType::kF16, DType::kBF16})
    for (const PoolingType pooling : {PoolingType::kSum, PoolingType::kNone})
      for (const int64_t dim : {16, 40}) {
        Make(kAll, {dim, 16, 5, 3}, pooling);
        ExpectDecodedBits(type, false);
      }
}

// A GPU's lanes read 16 columns of affine codes, 8 of 16 bits or 4 of f32, in groups of 4 lanes and
// more; 528 columns are more than a warp's.
TEST_P(QuantizedLookupTest, RowsOfManyVectors) {
  for (const int64_t dim : {64, 80, 528}) {
    Make(kAll, {dim, 16, 5, 6}, PoolingType::kSum);
    ExpectDecodedBits(DType::kF32, false);
    ExpectDecodedBits(DType::kF32, true);
    Make(kAll, {dim, 16, 5, 6}, PoolingType::kMean);
    ExpectDecodedBits(DType::kF16, true);
    ExpectDecodedBits(DType::kBF16, false);
    Make(kAll, {dim, 16, 3, 3}, PoolingType::kNone);
    ExpectDecodedBits(DType::kF32, false);
  }
}

// Large outputs are written past the caches; work is cut into pieces.
TEST_P(QuantizedLookupTest, LargeOutputs) {
  if (!on_cpu()) GTEST_SKIP() << "SKIPPED: sizes matter on a CPU alone";
  for (const PoolingType pooling : {PoolingType::kSum, PoolingType::kNone}) {
    Make({"int8", "int4", "f16"}, {256, 1, 3000, 2}, pooling);
    ExpectDecodedBits(DType::kF32, false);
    ExpectDecodedBits(DType::kBF16, false);
  }
}

TEST_P(QuantizedLookupTest, StoredRowsThemselves) {
  Make({"int8", "int8_tail"}, {10, 16, 5, 3}, PoolingType::kNone);
  const Tensor ids = ids_.To(ctx(), ctx().device()), offsets = offsets_.To(ctx(), ctx().device());
  for (size_t t = 0; t < 2; ++t) {
    const Tensor stored = tables_[t].stored.To(ctx(), ctx().device());
    const int64_t begin = first_ids_[t];
    const auto first_bag = static_cast<int64_t>(t) * shape_.batch;
    const int64_t end = offsets_.data<int32_t>()[first_bag + shape_.batch];
    const Tensor out = Tensor::Full(ctx(), {end - begin, 14}, 9, DType::kU8);
    QuantizedLookupFeature f;
    f.rows = stored.raw_data();
    f.layout = LayoutOf(tables_[t].codec, 10);
    f.num_rows = kRows;
    f.dim = 10;
    f.ids = {ids.raw_data(), true};
    f.first_bag = first_bag;
    f.num_bags = shape_.batch;
    f.pooling = PoolingType::kNone;
    f.output = out.raw_data();
    f.output_type = DType::kU8;
    f.output_stride = 14;
    QuantizedLookup(ctx(), {std::span(&f, 1), {offsets.raw_data(), false}, nullptr, ids.numel()});
    const auto got = out.ToVector<uint8_t>(), rows = tables_[t].stored.ToVector<uint8_t>();
    for (int64_t i = begin; i < end; ++i)
      for (int64_t b = 0; b < 14; ++b) {
        const int64_t id = ids_.data<int64_t>()[i];
        const uint8_t expected =
            id >= 0 && id < kRows ? rows[static_cast<size_t>(id * 16 + b)] : uint8_t{0};
        ASSERT_EQ(got[static_cast<size_t>((i - begin) * 14 + b)], expected) << t << " " << i;
      }
  }
}

TEST_P(QuantizedLookupTest, WhatMakesNoSenseIsRefused) {
  Make({"int4"}, {8, 16, 2, 2}, PoolingType::kNone);
  EXPECT_THAT([&] { Run(ctx(), false, DType::kU8, false); },
              ThrowsMessage<Error>(HasSubstr("u8 output is of int8 rows alone")));
  EXPECT_THAT([&] { Run(ctx(), false, DType::kI32, false); },
              ThrowsMessage<Error>(HasSubstr("output of type i32")));
  EXPECT_THAT([&] { Run(ctx(), false, DType::kF32, true); },
              ThrowsMessage<Error>(HasSubstr("takes no weights")));
  Make({"int8"}, {8, 16, 2, 2}, PoolingType::kSum);
  EXPECT_THAT([&] { Run(ctx(), false, DType::kU8, false); },
              ThrowsMessage<Error>(HasSubstr("u8 output is for pooling NONE")));
}

TESSERA_INSTANTIATE_DEVICES(QuantizedLookupTest);

}  // namespace
}  // namespace tessera
