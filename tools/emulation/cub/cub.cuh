#ifndef TESSERA_TOOLS_EMULATION_CUB_CUB_CUH_
#define TESSERA_TOOLS_EMULATION_CUB_CUB_CUH_
// Stands in for CUB's header of this name under --config=emulated: the device-wide algorithms that
// runtime/algorithms_cuda.cu calls, plain loops in the order of the stream. As with CUB, a call
// without temporary storage only says how much it needs.
#include <algorithm>
#include <numeric>
#include <vector>

#include "cuda_runtime.h"

namespace cub {

template <typename T>
struct DoubleBuffer {
  T* buffers[2];
  int selector = 0;
  DoubleBuffer(T* current, T* alternate) : buffers{current, alternate} {}
  T* Current() const { return buffers[selector]; }
  T* Alternate() const { return buffers[selector ^ 1]; }
};

namespace emulated {
// Runs `work` on the stream; true if this was a real call.
template <typename Work>
cudaError_t Call(void* storage, size_t& bytes, cudaStream_t stream, Work&& work) {
  if (storage == nullptr)
    bytes = 64;
  else
    cuda_emulation::Enqueue(stream, std::forward<Work>(work));
  return cudaSuccess;
}
}  // namespace emulated

struct DeviceRadixSort {
  template <typename Key, typename Value, typename Count>
  static cudaError_t SortPairs(void* storage, size_t& bytes, DoubleBuffer<Key>& keys,
                               DoubleBuffer<Value>& values, Count n, int begin_bit, int end_bit,
                               cudaStream_t stream) {
    const auto from_keys = keys, to_keys = keys;
    const auto from_values = values;
    const cudaError_t error = emulated::Call(storage, bytes, stream, [=] {
      std::vector<size_t> order(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), size_t{0});
      const auto digits = [=](size_t i) {
        const int width = end_bit - begin_bit, all = static_cast<int>(sizeof(Key)) * 8;
        const Key key = from_keys.Current()[i] >> begin_bit;
        return width >= all ? key : static_cast<Key>(key & ((Key{1} << width) - 1));
      };
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t a, size_t b) { return digits(a) < digits(b); });
      for (size_t i = 0; i < order.size(); ++i) {
        to_keys.Alternate()[i] = from_keys.Current()[order[i]];
        from_values.Alternate()[i] = from_values.Current()[order[i]];
      }
    });
    if (storage != nullptr) keys.selector ^= 1, values.selector ^= 1;
    return error;
  }
};

struct DeviceScan {
  template <typename In, typename Out, typename Count>
  static cudaError_t InclusiveSum(void* storage, size_t& bytes, In in, Out out, Count n,
                                  cudaStream_t stream) {
    return emulated::Call(storage, bytes, stream, [=] {
      std::decay_t<decltype(out[0])> sum = 0;
      for (Count i = 0; i < n; ++i) out[i] = sum += in[i];
    });
  }
  template <typename In, typename Out, typename Op, typename Count>
  static cudaError_t InclusiveScan(void* storage, size_t& bytes, In in, Out out, Op op, Count n,
                                   cudaStream_t stream) {
    return emulated::Call(storage, bytes, stream, [=] {
      for (Count i = 0; i < n; ++i) out[i] = i == 0 ? in[0] : op(out[i - 1], in[i]);
    });
  }
  template <typename In, typename Out, typename Count>
  static cudaError_t ExclusiveSum(void* storage, size_t& bytes, In in, Out out, Count n,
                                  cudaStream_t stream) {
    return emulated::Call(storage, bytes, stream, [=] {
      std::decay_t<decltype(out[0])> sum = 0;
      for (Count i = 0; i < n; ++i) {
        const auto value = in[i];
        out[i] = sum;
        sum += value;
      }
    });
  }
};

struct DeviceSelect {
  template <typename In, typename Out, typename Selected, typename Count, typename Predicate>
  static cudaError_t If(void* storage, size_t& bytes, In in, Out out, Selected selected, Count n,
                        Predicate predicate, cudaStream_t stream) {
    return emulated::Call(storage, bytes, stream, [=] {
      std::decay_t<decltype(selected[0])> count = 0;
      for (Count i = 0; i < n; ++i)
        if (predicate(in[i])) out[count++] = in[i];
      selected[0] = count;
    });
  }
};

}  // namespace cub
#endif  // TESSERA_TOOLS_EMULATION_CUB_CUB_CUH_
