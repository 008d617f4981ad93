#include "bench/embedding/device_workload.h"

#include <algorithm>

#include "bench/embedding/workload.h"
#include "runtime/numbers/random.h"

namespace tessera::bench {

namespace {

Tensor RandomRows(Context& ctx, const DeviceShape& shape) {
  Tensor rows = Tensor::Empty(ctx, {shape.rows, shape.dim});
  FillUniform(ctx, rows, -0.01f, 0.01f);
  return rows;
}

}  // namespace

// ---- batches

DeviceBatches::DeviceBatches(Context& ctx, const DeviceShape& shape)
    : shape_(shape), output_(Tensor::Zeros(ctx, {shape.batch, shape.tables * shape.dim})) {
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i <= shape.tables * shape.batch; ++i) offsets.push_back(i * shape.pooling);
  offsets_ = Tensor::From(ctx, offsets);
  for (int k = 0; k < shape.batches; ++k) batches_.push_back(MakeBatch(ctx));
}

DeviceBatches::Batch DeviceBatches::MakeBatch(Context& ctx) const {
  Batch batch;
  const int64_t of_table = shape_.batch * shape_.pooling;
  std::vector<int64_t> ids(static_cast<size_t>(shape_.tables * of_table));
  const uint64_t sequence = ctx.random().TakeSequence();
  ParallelFor(ctx, static_cast<int64_t>(ids.size()), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const PhiloxBits bits = Philox(ctx.random().seed(), sequence, static_cast<uint64_t>(i));
      ids[static_cast<size_t>(i)] =
          DrawRow(UniformDouble(bits.v[0], bits.v[1]), shape_.rows, shape_.zipf);
    }
  });
  batch.ids = Tensor::From(ctx, ids);
  for (int64_t t = 0; t < shape_.tables; ++t) {
    const auto begin = ids.begin() + t * of_table, end = begin + of_table;
    std::sort(begin, end);
    batch.distinct_rows += std::unique(begin, end) - begin;
  }
  return batch;
}

LookupFeature DeviceBatches::FeatureOf(int64_t t, int round, const Tensor& to) const {
  return {.num_rows = shape_.rows,
          .dim = shape_.dim,
          .ids = {Ids(round).raw_data(), true},
          .first_bag = t * shape_.batch,
          .num_bags = shape_.batch,
          .output = to.data<float>() + t * shape_.dim,
          .output_stride = shape_.tables * shape_.dim};
}

double DeviceBatches::LookupBytes(int64_t row_bytes) const {
  const auto bags = static_cast<double>(shape_.tables * shape_.batch),
             ids = bags * static_cast<double>(shape_.pooling);
  return ids * static_cast<double>(row_bytes + 8) + bags * 4.0 * static_cast<double>(shape_.dim);
}

// ---- trained tables

DeviceWorkload::DeviceWorkload(Context& ctx, const DeviceShape& shape)
    : shape_(shape), batches_(ctx, shape) {
  std::vector<int64_t> pointers;
  for (int64_t t = 0; t < shape.tables; ++t) {
    tables_.push_back(RandomRows(ctx, shape).To(ctx, shape.row_type));
    states_.push_back(Tensor::Zeros(ctx, {shape.rows}));
    pointers.push_back(reinterpret_cast<int64_t>(tables_.back().raw_data()));
  }
  grad_ = Tensor::Full(ctx, output().shape(), 1e-3);
  table_pointers_ = Tensor::From(ctx, pointers);
}

LookupArgs DeviceWorkload::Lookup(int round, bool gradient) {
  features_.clear();
  for (int64_t t = 0; t < shape_.tables; ++t) {
    features_.push_back(batches_.FeatureOf(t, round, gradient ? grad_ : output()));
    features_.back().rows = tables_[static_cast<size_t>(t)].raw_data();
    features_.back().row_type = shape_.row_type;
  }
  return {features_, batches_.offsets(), nullptr, batches_.Ids(round).numel()};
}

std::vector<UpdateTable> DeviceWorkload::Tables(const AnyRule& rule) const {
  std::vector<UpdateTable> tables;
  for (size_t t = 0; t < tables_.size(); ++t)
    tables.push_back({tables_[t].raw_data(),
                      shape_.rows,
                      shape_.dim,
                      {static_cast<int>(t)},
                      &rule,
                      {states_[t].data<float>()},
                      shape_.row_type});
  return tables;
}

DeviceGather DeviceWorkload::Gather(int round) const {
  return {static_cast<const float* const*>(table_pointers_.raw_data()),
          batches_.Ids(round).data<int64_t>(),
          output().data<float>(),
          shape_.tables,
          shape_.batch,
          shape_.pooling,
          shape_.dim};
}

double DeviceWorkload::UpdateBytes(int round) const {
  return static_cast<double>(batches_.DistinctRows(round)) * 2 *
             static_cast<double>(row_bytes() + 4) +
         static_cast<double>(output().nbytes()) + static_cast<double>(batches_.Ids(round).nbytes());
}

// ---- stored tables

StoredWorkload::StoredWorkload(Context& ctx, const DeviceShape& shape, const RowCodec& codec)
    : shape_(shape), layout_(LayoutOf(codec, shape.dim)), batches_(ctx, shape) {
  for (int64_t t = 0; t < shape.tables; ++t)
    tables_.push_back(EncodeRows(ctx, codec, RandomRows(ctx, shape)));
}

QuantizedLookupArgs StoredWorkload::Lookup(int round) {
  features_.clear();
  for (int64_t t = 0; t < shape_.tables; ++t) {
    features_.push_back({batches_.FeatureOf(t, round, output()), layout_});
    features_.back().rows = tables_[static_cast<size_t>(t)].raw_data();
  }
  return {features_, batches_.offsets(), nullptr, batches_.Ids(round).numel()};
}

double StoredWorkload::LookupBytes() const { return batches_.LookupBytes(layout_.used_bytes); }

}  // namespace tessera::bench
