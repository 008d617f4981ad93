#ifndef TESSERA_BENCH_EMBEDDING_DEVICE_WORKLOAD_H_
#define TESSERA_BENCH_EMBEDDING_DEVICE_WORKLOAD_H_
// Tables, batches and gradients of one shape in the memory of a device, for device_bench.cc.
#include <vector>

#include "bench/embedding/bare_gather.h"
#include "embedding/lookup/lookup.h"
#include "embedding/update/update.h"
#include "runtime/tensor.h"

namespace tessera::bench {

struct DeviceShape {
  int64_t tables = 8, rows = 10'000'000, dim = 128, batch = 32768, pooling = 20;
  double zipf = 0;  // exponent; 0: uniform
  int batches = 3;  // used in turn
};

class DeviceWorkload {
 public:
  DeviceWorkload(Context& ctx, const DeviceShape& shape);

  // Batch `round` modulo shape.batches; with the gradient in the output's place for an update.
  LookupArgs Lookup(int round, bool gradient);
  std::vector<UpdateTable> Tables(const AnyRule& rule) const;
  // Reads the same rows with a bare gather kernel, on a GPU.
  DeviceGather Gather(int round) const;

  // Bytes that must be moved: every id and its row, every output once.
  double LookupBytes() const;
  // Every distinct row and its state in and out, every gradient and id once.
  double UpdateBytes(int round) const;

  const Tensor& output() const { return output_; }
  const std::vector<Tensor>& tables() const { return tables_; }

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
  std::vector<Tensor> tables_, states_;
  Tensor output_, grad_, offsets_;
  Tensor table_pointers_;  // [T] as i64
  std::vector<Batch> batches_;
  std::vector<LookupFeature> features_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_DEVICE_WORKLOAD_H_
