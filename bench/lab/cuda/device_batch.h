#ifndef TESSERA_BENCH_LAB_CUDA_DEVICE_BATCH_H_
#define TESSERA_BENCH_LAB_CUDA_DEVICE_BATCH_H_
// A batch of the host's memory once more in that of a context's device: rows, ids, offsets, weights
// and the buffer of outputs, with what lies between them.
#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "embedding/lookup/lookup.h"
#include "embedding/quantized/quantized_lookup.h"
#include "runtime/context.h"
#include "runtime/tensor.h"

namespace tessera::bench {

inline int64_t BytesOfRows(const LookupFeature& f) {
  return f.num_rows * f.dim * SizeOf(f.row_type);
}
inline int64_t BytesOfRows(const QuantizedLookupFeature& f) {
  return f.num_rows * f.layout.row_bytes;
}

// The host's memory as a tensor.
inline Tensor Bytes(const void* host, int64_t bytes) {
  return Tensor::Borrow(const_cast<void*>(host), {bytes}, DType::kU8);
}

// The host's outputs (or gradients) of a batch whose tables are alike, all together.
inline std::span<char> OutputsOf(const LookupArgs& args) {
  const LookupFeature& f = args.features[0];
  const int64_t outputs =
      f.pooling == PoolingType::kNone ? args.num_ids : std::ssize(args.features) * f.num_bags;
  return {static_cast<char*>(f.output),
          static_cast<size_t>(outputs * f.dim * SizeOf(f.output_type))};
}

// Args: LookupArgs or QuantizedLookupArgs.
template <typename Args>
class DeviceBatch {
 public:
  // REQUIRES: ids and offsets of i64; every output of `host` lies in `outputs`.
  DeviceBatch(Context& ctx, const Args& host, std::span<char> outputs)
      : ctx_(ctx), host_outputs_(outputs), features_(host.features.begin(), host.features.end()) {
    outputs_ = Copy(outputs.data(), static_cast<int64_t>(outputs.size()));
    int64_t bags = 0;
    for (Feature& f : features_) {
      bags = std::max(bags, f.first_bag + f.num_bags);
      f.rows = Copy(f.rows, BytesOfRows(f)).raw_data();
      f.output = static_cast<char*>(outputs_.raw_data()) +
                 (static_cast<const char*>(f.output) - outputs.data());
    }
    args_ = host;
    args_.features = features_;
    args_.offsets.data = Copy(host.offsets.data, (bags + 1) * kIndexBytes).raw_data();
    const void* ids = Copy(features_[0].ids.data, host.num_ids * kIndexBytes).raw_data();
    for (Feature& f : features_) f.ids.data = ids;
    if (host.weights != nullptr)
      args_.weights = static_cast<float*>(Copy(host.weights, host.num_ids * 4).raw_data());
  }

  const Args& args() const { return args_; }
  // Outputs become those of the host, such as a pattern.
  void SendOutputs() const {
    outputs_.CopyFrom(ctx_, Bytes(host_outputs_.data(), outputs_.nbytes()));
  }
  // Waits for the device, first for kernels: behind one that failed, the copy would be made later,
  // into memory that is gone.
  void CopyOutputsBack() const {
    ctx_.Sync();
    Bytes(host_outputs_.data(), outputs_.nbytes()).CopyFrom(ctx_, outputs_);
    ctx_.Sync();
  }

 private:
  using Feature = std::remove_const_t<typename decltype(Args::features)::element_type>;
  static constexpr int64_t kIndexBytes = 8;

  const Tensor& Copy(const void* host, int64_t bytes) {
    return copies_.emplace_back(Bytes(host, bytes).Clone(ctx_));
  }

  Context& ctx_;
  std::span<char> host_outputs_;
  std::vector<Feature> features_;
  std::vector<Tensor> copies_;
  Tensor outputs_;
  Args args_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_CUDA_DEVICE_BATCH_H_
