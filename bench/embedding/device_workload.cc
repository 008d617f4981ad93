#include "bench/embedding/device_workload.h"

#include <algorithm>

#include "bench/embedding/workload.h"
#include "runtime/numbers/random.h"

namespace tessera::bench {
DeviceWorkload::DeviceWorkload(Context& ctx, const DeviceShape& shape) : shape_(shape) {
  for (int64_t t = 0; t < shape.tables; ++t) {
    tables_.push_back(Tensor::Empty(ctx, {shape.rows, shape.dim}));
    FillUniform(ctx, tables_.back(), -0.01f, 0.01f);
    states_.push_back(Tensor::Zeros(ctx, {shape.rows}));
  }
  output_ = Tensor::Zeros(ctx, {shape.batch, shape.tables * shape.dim});
  grad_ = Tensor::Full(ctx, output_.shape(), 1e-3);
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i <= shape.tables * shape.batch; ++i) offsets.push_back(i * shape.pooling);
  offsets_ = Tensor::From(ctx, offsets);
  std::vector<int64_t> pointers;
  for (const Tensor& table : tables_)
    pointers.push_back(reinterpret_cast<int64_t>(table.raw_data()));
  table_pointers_ = Tensor::From(ctx, pointers);
  for (int k = 0; k < shape.batches; ++k) batches_.push_back(MakeBatch(ctx));
}

DeviceWorkload::Batch DeviceWorkload::MakeBatch(Context& ctx) const {
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

LookupArgs DeviceWorkload::Lookup(int round, bool gradient) {
  const Tensor &target = gradient ? grad_ : output_, &ids = BatchOf(round).ids;
  features_.clear();
  for (int64_t t = 0; t < shape_.tables; ++t)
    features_.push_back({.rows = tables_[static_cast<size_t>(t)].data<float>(),
                         .num_rows = shape_.rows,
                         .dim = shape_.dim,
                         .ids = {ids.raw_data(), true},
                         .first_bag = t * shape_.batch,
                         .num_bags = shape_.batch,
                         .output = target.data<float>() + t * shape_.dim,
                         .output_stride = shape_.tables * shape_.dim});
  return {features_, {offsets_.raw_data(), true}, nullptr, ids.numel()};
}

std::vector<UpdateTable> DeviceWorkload::Tables(const AnyRule& rule) const {
  std::vector<UpdateTable> tables;
  for (size_t t = 0; t < tables_.size(); ++t)
    tables.push_back({tables_[t].data<float>(),
                      shape_.rows,
                      shape_.dim,
                      {static_cast<int>(t)},
                      &rule,
                      {states_[t].data<float>()}});
  return tables;
}

DeviceGather DeviceWorkload::Gather(int round) const {
  return {static_cast<const float* const*>(table_pointers_.raw_data()),
          BatchOf(round).ids.data<int64_t>(),
          output_.data<float>(),
          shape_.tables,
          shape_.batch,
          shape_.pooling,
          shape_.dim};
}

double DeviceWorkload::LookupBytes() const {
  const double bags = static_cast<double>(shape_.tables * shape_.batch),
               row = 4.0 * static_cast<double>(shape_.dim);
  return bags * (static_cast<double>(shape_.pooling) * (row + 8) + row);
}

double DeviceWorkload::UpdateBytes(int round) const {
  const double row = 4.0 * static_cast<double>(shape_.dim);
  return static_cast<double>(BatchOf(round).distinct_rows) * 2 * (row + 4) +
         static_cast<double>(output_.nbytes()) + static_cast<double>(BatchOf(round).ids.nbytes());
}

}  // namespace tessera::bench
