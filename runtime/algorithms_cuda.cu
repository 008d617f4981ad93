// The library's only calls of CUB: temporary storage is taken from the context's allocator.
#include <cub/cub.cuh>
#include <iterator>

#include "runtime/algorithms.h"
#include "runtime/base/host_device.h"
#include "runtime/device/cuda_check.h"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

// Calls fn(storage, bytes) twice, as CUB asks: to learn how much storage it needs, then with it.
template <typename Fn>
void WithStorage(Context& ctx, Fn&& fn) {
  UseDevice(ctx.device());
  size_t bytes = 0;
  TESSERA_CUDA_CHECK(fn(static_cast<void*>(nullptr), bytes));
  const Tensor storage =
      Tensor::Empty(ctx, {static_cast<int64_t>(bytes > 0 ? bytes : 1)}, DType::kU8);
  TESSERA_CUDA_CHECK(fn(storage.raw_data(), bytes));
}

// 0, 1, 2, … as an iterator.
template <typename T>
struct Counting {
  using value_type = T;
  using difference_type = int64_t;
  using pointer = const T*;
  using reference = T;
  using iterator_category = std::random_access_iterator_tag;
  T first = 0;
  TESSERA_HD T operator*() const { return first; }
  TESSERA_HD T operator[](int64_t i) const { return first + static_cast<T>(i); }
  TESSERA_HD Counting operator+(int64_t i) const { return {first + static_cast<T>(i)}; }
};

template <typename Key>
struct BeginsRun {
  const Key* keys;
  TESSERA_HD bool operator()(uint32_t i) const { return i == 0 || keys[i] != keys[i - 1]; }
};

template <typename Place>
struct Flagged {
  const uint8_t* flags;
  TESSERA_HD bool operator()(Place i) const { return flags[i] != 0; }
};

// 1 for each place that `wanted` names, else 0, as an iterator.
template <typename Predicate>
struct Ones {
  using value_type = uint32_t;
  using difference_type = int64_t;
  using pointer = const uint32_t*;
  using reference = uint32_t;
  using iterator_category = std::random_access_iterator_tag;
  Predicate wanted;
  int64_t first = 0;
  TESSERA_HD uint32_t operator[](int64_t i) const {
    return wanted(static_cast<uint32_t>(first + i)) ? 1 : 0;
  }
  TESSERA_HD uint32_t operator*() const { return (*this)[0]; }
  TESSERA_HD Ones operator+(int64_t i) const { return {wanted, first + i}; }
};

template <typename Predicate>
void NumberPlaces(Context& ctx, int64_t n, uint32_t* numbers, const Predicate& wanted) {
  if (n == 0) return;
  WithStorage(ctx, [&](void* storage, size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(storage, bytes, Ones<Predicate>{wanted}, numbers, n,
                                         CudaStream(ctx.stream()));
  });
}

template <typename Place, typename Predicate>
void SelectPlaces(Context& ctx, int64_t n, Place* places, Place* count, const Predicate& wanted) {
  WithStorage(ctx, [&](void* storage, size_t& bytes) {
    return cub::DeviceSelect::If(storage, bytes, Counting<Place>{}, places, count, n, wanted,
                                 CudaStream(ctx.stream()));
  });
}

}  // namespace

template <typename T>
void InclusiveSum(Context& ctx, const T* in, T* out, int64_t n) {
  if (n == 0) return;
  WithStorage(ctx, [&](void* storage, size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(storage, bytes, in, out, n, CudaStream(ctx.stream()));
  });
}
template void InclusiveSum(Context&, const int32_t*, int32_t*, int64_t);
template void InclusiveSum(Context&, const int64_t*, int64_t*, int64_t);

struct Larger {
  template <typename T>
  TESSERA_HD T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
template <typename T>
void InclusiveMax(Context& ctx, const T* in, T* out, int64_t n) {
  if (n == 0) return;
  WithStorage(ctx, [&](void* storage, size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(storage, bytes, in, out, Larger(), n,
                                          CudaStream(ctx.stream()));
  });
}
template void InclusiveMax(Context&, const int32_t*, int32_t*, int64_t);
template void InclusiveMax(Context&, const int64_t*, int64_t*, int64_t);

template <typename T>
void ExclusiveSum(Context& ctx, const T* in, T* out, int64_t n) {
  if (n == 0) return;
  WithStorage(ctx, [&](void* storage, size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(storage, bytes, in, out, n, CudaStream(ctx.stream()));
  });
}
template void ExclusiveSum(Context&, const int32_t*, int32_t*, int64_t);
template void ExclusiveSum(Context&, const int64_t*, int64_t*, int64_t);

template <typename Key>
SortedPairs<Key> SortPairs(Context& ctx, Key* keys, Key* keys_scratch, uint32_t* values,
                           uint32_t* values_scratch, int64_t n, int bits) {
  cub::DoubleBuffer<Key> key_buffers(keys, keys_scratch);
  cub::DoubleBuffer<uint32_t> value_buffers(values, values_scratch);
  if (n > 0)
    WithStorage(ctx, [&](void* storage, size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(storage, bytes, key_buffers, value_buffers, n, 0, bits,
                                             CudaStream(ctx.stream()));
    });
  return {key_buffers.Current(), value_buffers.Current()};
}
template SortedPairs<uint32_t> SortPairs(Context&, uint32_t*, uint32_t*, uint32_t*, uint32_t*,
                                         int64_t, int);
template SortedPairs<uint64_t> SortPairs(Context&, uint64_t*, uint64_t*, uint32_t*, uint32_t*,
                                         int64_t, int);

template <typename Key>
void SelectRunStarts(Context& ctx, const Key* keys, int64_t n, uint32_t* starts, uint32_t* count) {
  SelectPlaces(ctx, n, starts, count, BeginsRun<Key>{keys});
}
template void SelectRunStarts(Context&, const uint32_t*, int64_t, uint32_t*, uint32_t*);
template void SelectRunStarts(Context&, const uint64_t*, int64_t, uint32_t*, uint32_t*);

template <typename Key>
void NumberRuns(Context& ctx, const Key* keys, int64_t n, uint32_t* numbers) {
  NumberPlaces(ctx, n, numbers, BeginsRun<Key>{keys});
}
template void NumberRuns(Context&, const uint32_t*, int64_t, uint32_t*);
template void NumberRuns(Context&, const uint64_t*, int64_t, uint32_t*);
void NumberFlagged(Context& ctx, const uint8_t* flags, int64_t n, uint32_t* numbers) {
  NumberPlaces(ctx, n, numbers, Flagged<uint32_t>{flags});
}

template <typename Place>
void SelectFlagged(Context& ctx, const uint8_t* flags, int64_t n, Place* places, Place* count) {
  SelectPlaces(ctx, n, places, count, Flagged<Place>{flags});
}
template void SelectFlagged(Context&, const uint8_t*, int64_t, int32_t*, int32_t*);
template void SelectFlagged(Context&, const uint8_t*, int64_t, int64_t*, int64_t*);

}  // namespace tessera::internal
