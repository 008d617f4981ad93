#ifndef TESSERA_BENCH_EMBEDDING_DEVICE_WORKLOAD_H_
#define TESSERA_BENCH_EMBEDDING_DEVICE_WORKLOAD_H_
// Tables, batches and gradients of one shape in the memory of a device, for device_bench.cc.
#include <vector>

#include "bench/embedding/bare_gather.h"
#include "embedding/lookup/lookup.h"
#include "embedding/quantized/quantized_lookup.h"
#include "embedding/update/update.h"
#include "quant/row_codec.h"
#include "runtime/tensor.h"

namespace tessera::bench {

struct DeviceShape {
  int64_t tables = 8, rows = 10'000'000, dim = 128, batch = 32768, pooling = 20;
  double zipf = 0;               // exponent; 0: uniform
  DType row_type = DType::kF32;  // of trained tables
  int batches = 3;               // used in turn
};

// The ids of a shape, and where its pooled rows go.
class DeviceBatches {
 public:
  DeviceBatches(Context& ctx, const DeviceShape& shape);

  // The ids of batch `round` modulo shape.batches.
  const Tensor& Ids(int round) const { return BatchOf(round).ids; }
  int64_t DistinctRows(int round) const { return BatchOf(round).distinct_rows; }
  const Tensor& output() const { return output_; }
  IndexArray offsets() const { return {offsets_.raw_data(), true}; }
  // The feature of table t, without rows, whose pooled rows lie in `to`, shaped as the output.
  LookupFeature FeatureOf(int64_t t, int round, const Tensor& to) const;
  // Bytes that a lookup must move: every id and its row, every output once.
  double LookupBytes(int64_t row_bytes) const;

 private:
  struct Batch {
    Tensor ids;
    int64_t distinct_rows = 0;
  };
  Batch MakeBatch(Context& ctx) const;
  const Batch& BatchOf(int round) const {
    return batches_[static_cast<size_t>(round) % batches_.size()];
  }

  DeviceShape shape_;
  Tensor output_, offsets_;
  std::vector<Batch> batches_;
};

// Tables that are trained.
class DeviceWorkload {
 public:
  DeviceWorkload(Context& ctx, const DeviceShape& shape);

  // With the gradient in the output's place for an update.
  LookupArgs Lookup(int round, bool gradient);
  std::vector<UpdateTable> Tables(const AnyRule& rule) const;
  // Reads the same rows with a bare gather kernel, on a GPU.
  DeviceGather Gather(int round) const;

  int64_t row_bytes() const { return shape_.dim * SizeOf(shape_.row_type); }
  double LookupBytes() const { return batches_.LookupBytes(row_bytes()); }
  // Every distinct row and its state in and out, every gradient and id once.
  double UpdateBytes(int round) const;

  const Tensor& output() const { return batches_.output(); }
  const std::vector<Tensor>& tables() const { return tables_; }

 private:
  DeviceShape shape_;
  DeviceBatches batches_;
  std::vector<Tensor> tables_, states_;
  Tensor grad_;
  Tensor table_pointers_;  // [T] as i64
  std::vector<LookupFeature> features_;
};

// Tables that are only read, as rows of `codec`.
class StoredWorkload {
 public:
  StoredWorkload(Context& ctx, const DeviceShape& shape, const RowCodec& codec);

  QuantizedLookupArgs Lookup(int round);
  double LookupBytes() const;
  const Tensor& output() const { return batches_.output(); }

 private:
  DeviceShape shape_;
  RowLayout layout_;
  DeviceBatches batches_;
  std::vector<Tensor> tables_;
  std::vector<QuantizedLookupFeature> features_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_DEVICE_WORKLOAD_H_
