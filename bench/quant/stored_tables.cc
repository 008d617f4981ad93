#include "bench/quant/stored_tables.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

constexpr int64_t kRows = 1000;   // that differ
constexpr int64_t kChecked = 16;  // bags of a table

}  // namespace

StoredTables::StoredTables(Context& ctx, const Shape& shape, const RowCodec& codec, DType output)
    : shape_(shape), codec_(codec), row_bytes_(RowBytes(codec, shape.dim)) {
  const Tensor some = Tensor::Empty(ctx, {kRows, shape.dim});
  FillUniform(ctx, some, -1, 1);
  const Tensor encoded = EncodeRows(ctx, codec, some);
  for (const int64_t rows : shape.rows) {
    tables_.push_back(StoredTable(ctx, rows, encoded));
    pointers_.push_back(tables_.back().data<uint8_t>());
  }
  DrawBatches(ctx.random().seed());
  output_ = sequence() ? Tensor::Zeros(ctx, {num_ids(), shape.dim}, output)
                       : Tensor::Zeros(ctx, {shape.batch, num_tables() * shape.dim}, output);
  if (shape.weighted) weights_.assign(static_cast<size_t>(num_ids()), 0.5f);
}

Tensor StoredTables::StoredTable(Context& ctx, int64_t rows, const Tensor& encoded) const {
  Tensor table = Tensor::Empty(ctx, {rows, row_bytes_}, DType::kU8);
  for (int64_t r = 0; r < rows; r += kRows)
    table.Rows(r, std::min(r + kRows, rows))
        .CopyFrom(ctx, encoded.Rows(0, std::min(kRows, rows - r)));
  return table;
}

void StoredTables::DrawBatches(uint64_t seed) {
  IdBatches batches(shape_, seed);
  for (int k = 0; k < kBatches; ++k) {
    const IdBatch drawn = batches.Next();
    offsets_.assign(drawn.offsets.begin(), drawn.offsets.end());  // the same of every batch
    ids_.emplace_back(drawn.ids.begin(), drawn.ids.end());
  }
  each_.resize(static_cast<size_t>(num_ids()) + 1);
  std::iota(each_.begin(), each_.end(), 0);
}

void StoredTables::Lookup(Context& ctx, int round) {
  features_.clear();
  for (int64_t t = 0; t < num_tables(); ++t) {
    QuantizedLookupFeature f;
    f.rows = pointers_[static_cast<size_t>(t)];
    f.layout = LayoutOf(codec_, shape_.dim);
    f.num_rows = shape_.rows[static_cast<size_t>(t)];
    f.dim = shape_.dim;
    f.ids = {ids(round).data(), false};
    f.first_bag = t * shape_.batch;
    f.num_bags = shape_.batch;
    f.pooling = shape_.pooling;
    f.output_type = output_.dtype();
    f.output_stride = output_.dim(1);
    f.output = static_cast<char*>(output_.raw_data()) +
               (sequence() ? FirstId(t, 0) : t) * shape_.dim * SizeOf(output_.dtype());
    features_.push_back(f);
  }
  QuantizedLookup(ctx, {features_,
                        {offsets_.data(), false},
                        weights_.empty() ? nullptr : weights_.data(),
                        num_ids()});
}

Tensor StoredTables::OutputOf(Context& ctx, int64_t t, int64_t b) const {
  const Tensor rows = sequence() ? output_.Rows(FirstId(t, b), FirstId(t, b + 1))
                                 : output_.Rows(b, b + 1).Narrow(1, t * shape_.dim, shape_.dim);
  return rows.Contiguous(ctx).To(ctx, DType::kF32);
}

// Sums in double of what the rows decode to; outputs of 16 bits are rounded.
void StoredTables::CheckBag(Context& ctx, int64_t t, int64_t b) const {
  const int64_t first = FirstId(t, b), length = FirstId(t, b + 1) - first;
  const Tensor output = OutputOf(ctx, t, b);
  std::vector<double> expected(static_cast<size_t>(output.numel()));
  for (int64_t i = 0; i < length; ++i) {
    const int64_t id = ids(0)[static_cast<size_t>(first + i)];
    const Tensor row =
        DecodeRows(ctx, codec_, tables_[static_cast<size_t>(t)].Rows(id, id + 1), shape_.dim);
    const double weight = (weights_.empty() ? 1.0 : 0.5) /
                          (shape_.pooling == PoolingType::kMean ? static_cast<double>(length) : 1);
    for (int64_t d = 0; d < shape_.dim; ++d)
      expected[static_cast<size_t>((sequence() ? i * shape_.dim : 0) + d)] +=
          weight * row.data<float>()[d];
  }
  const double tolerance = output_.dtype() == DType::kF32 ? 1e-4 : 1e-2;
  for (size_t d = 0; d < expected.size(); ++d)
    TESSERA_CHECK(
        std::abs(expected[d] - output.data<float>()[d]) <= tolerance * (1 + std::abs(expected[d])),
        "table {}, bag {}, number {}: expected {}, got {}", t, b, d, expected[d],
        output.data<float>()[d]);
}

void StoredTables::Check(Context& ctx) {
  Lookup(ctx, 0);
  for (int64_t t = 0; t < num_tables(); ++t)
    for (int64_t b = 0; b < std::min(shape_.batch, kChecked); ++b) CheckBag(ctx, t, b);
}

bool StoredTables::HasBare() const {
  const bool ragged = shape_.lengths.kind != BagLengths::Kind::kFixed;
  return shape_.dim * SizeOf(output_.dtype()) % 64 == 0 && !(ragged && sequence());
}

BareRows StoredTables::Bare(int round) const {
  auto* out = static_cast<uint8_t*>(output_.raw_data());
  const int64_t row = shape_.dim * SizeOf(output_.dtype());
  if (sequence())
    return {pointers_.data(), num_tables(), num_ids() / num_tables(),
            row_bytes_,       row,          ids(round).data(),
            each_.data(),     out};
  return {pointers_.data(),  num_tables(),    shape_.batch, row_bytes_, row,
          ids(round).data(), offsets_.data(), out};
}

}  // namespace tessera::bench
