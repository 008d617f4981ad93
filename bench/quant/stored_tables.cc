#include "bench/quant/stored_tables.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "bench/embedding/lookup_check.h"

namespace tessera::bench {
namespace {

constexpr int64_t kRows = 1000;  // that differ

RowCodec ParseStoredCodec(const std::string& name) {
  RowCodec codec = ParseRowCodec(name);
  if (name.find('@') == std::string::npos) codec.alignment = 1;
  return codec;
}

}  // namespace

RowCodec CodecOf(const Point& point) { return ParseStoredCodec(point.Text("codec")); }

Axis CodecAxis(const std::string& help) {
  return {"codec",
          {"int8"},
          help + "; int8@4 and the like: padded to a multiple of 4 bytes",
          [](const std::string& name) { ParseStoredCodec(name); }};
}

StoredTables::StoredTables(Context& ctx, const Shape& shape, const RowCodec& codec, DType output)
    : shape_(shape), codec_(codec), row_bytes_(RowBytes(codec, shape.dim)) {
  const Tensor some = Tensor::Empty(ctx, {kRows, shape.dim});
  FillUniform(ctx, some, -1, 1);
  encoded_ = EncodeRows(ctx, codec, some);
  for (const int64_t rows : shape.rows) {
    tables_.push_back(StoredTable(ctx, rows));
    pointers_.push_back(tables_.back().data<uint8_t>());
  }
  DrawBatches(ctx.random().seed());
  output_ = sequence() ? Tensor::Zeros(ctx, {num_ids(), shape.dim}, output)
                       : Tensor::Zeros(ctx, {shape.batch, num_tables() * shape.dim}, output);
  if (shape.weighted) weights_.assign(static_cast<size_t>(num_ids()), 0.5f);
}

Tensor StoredTables::StoredTable(Context& ctx, int64_t rows) const {
  Tensor table = Tensor::Empty(ctx, {rows, row_bytes_}, DType::kU8);
  for (int64_t r = 0; r < rows; r += kRows)
    table.Rows(r, std::min(r + kRows, rows))
        .CopyFrom(ctx, encoded_.Rows(0, std::min(kRows, rows - r)));
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

QuantizedLookupArgs StoredTables::Lookup(int round) {
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
  return {
      features_, {offsets_.data(), false}, weights_.empty() ? nullptr : weights_.data(), num_ids()};
}

void StoredTables::ClearOutput() {
  std::memset(output_.raw_data(), 0xA5, static_cast<size_t>(output_.nbytes()));
}

// A row of a table has the number of the one that it repeats.
void StoredTables::CheckOutput(Context& ctx) {
  const Tensor decoded = DecodeRows(ctx, codec_, encoded_, shape_.dim);
  std::vector<int64_t> repeated(ids(0).begin(), ids(0).end());
  for (int64_t& id : repeated) id %= kRows;
  const QuantizedLookupArgs args = Lookup(0);
  std::vector<LookupFeature> features(args.features.begin(), args.features.end());
  for (LookupFeature& f : features) {
    f.rows = decoded.data<float>();
    f.num_rows = kRows;
    f.ids = {repeated.data(), true};
  }
  CheckLookup({features, args.offsets, args.weights, args.num_ids});
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
