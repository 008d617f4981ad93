#ifndef TESSERA_TESTS_EMULATION_RUN_KERNEL_H_
#define TESSERA_TESTS_EMULATION_RUN_KERNEL_H_
// Starts kernels on the emulated device by CUDA's own interface, below everything of Tessera.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tools/emulation/cuda_runtime.h"

namespace tessera::testing {

inline cudaLaunchConfig_t Grid(dim3 blocks, dim3 threads, size_t shared_bytes = 0,
                               cudaStream_t stream = nullptr) {
  return {blocks, threads, shared_bytes, stream};
}

// Starts kernel(args…).
template <typename... Params, typename... Args>
void Start(const cudaLaunchConfig_t& grid, void (*kernel)(Params...), Args... args) {
  ASSERT_EQ(cudaLaunchKernelEx(&grid, kernel, static_cast<Params>(args)...), cudaSuccess);
}

// Device memory with these values at the start.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values, cudaStream_t stream = nullptr)
      : size_(values.size()), stream_(stream) {
    void* p = nullptr;
    EXPECT_EQ(cudaMallocAsync(&p, size_ * sizeof(T), stream), cudaSuccess);
    data_ = static_cast<T*>(p);
    cudaMemcpyAsync(data_, values.data(), size_ * sizeof(T), cudaMemcpyDefault, stream);
  }
  DeviceArray(size_t size, T value, cudaStream_t stream = nullptr)
      : DeviceArray(std::vector<T>(size, value), stream) {}
  ~DeviceArray() { cudaFreeAsync(data_, stream_); }
  DeviceArray(const DeviceArray&) = delete;

  T* get() const { return data_; }
  // Waits.
  std::vector<T> Values() const {
    std::vector<T> values(size_);
    cudaMemcpyAsync(values.data(), data_, size_ * sizeof(T), cudaMemcpyDefault, stream_);
    return values;
  }

 private:
  size_t size_;
  cudaStream_t stream_;
  T* data_;
};

// Returns what one block of 32 threads writes: lane l's result of kernel(out + l).
template <typename T>
std::vector<T> OfEachLane(void (*kernel)(T*)) {
  const DeviceArray<T> out(32, T{});
  Start(Grid(1, 32), kernel, out.get());
  return out.Values();
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_EMULATION_RUN_KERNEL_H_
