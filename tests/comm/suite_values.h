#ifndef TESSERA_TESTS_COMM_SUITE_VALUES_H_
#define TESSERA_TESTS_COMM_SUITE_VALUES_H_
// The suite sends these values: every rank computes those of all ranks by itself.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "comm/communicator.h"

namespace tessera::testing {

// Value i of rank `rank` under `salt`: of many magnitudes, so that the order of a sum shows, and
// small for integers.
template <typename T>
T ValueOf(int rank, int64_t i, int salt = 0) {
  const auto mix =
      static_cast<uint64_t>(rank * 7919 + salt * 104729 + i * 31 + 17) * 0x9e3779b97f4a7c15u;
  const auto bits = static_cast<int64_t>(mix >> 40);
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(bits - (1 << 23)) / static_cast<T>(int64_t{1} << (mix % 30));
  else
    return static_cast<T>(bits % 100);
}

template <typename T>
std::vector<T> Values(int rank, int64_t n, int salt = 0) {
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(ValueOf<T>(rank, i, salt));
  return values;
}

// Reads values; on a GPU they are there only when the stream has come so far.
template <typename T>
Tensor Make(Context& ctx, const Shape& shape, const std::vector<T>& values) {
  return Tensor::From(ctx, shape, values).Clone(ctx);
}
template <typename T>
Tensor Make(Context& ctx, const Shape& shape, int rank, int salt = 0) {
  return Make(ctx, shape, Values<T>(rank, shape.numel(), salt));
}

template <typename T>
std::vector<T> Append(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The result of an all-reduce of Values.
template <typename T>
std::vector<T> Reduced(int ranks, int64_t n, int salt, ReduceOp op = ReduceOp::kSum) {
  std::vector<T> result = Values<T>(0, n, salt);
  for (int r = 1; r < ranks; ++r)
    for (int64_t i = 0; i < n; ++i) {
      T& a = result[static_cast<size_t>(i)];
      const T b = ValueOf<T>(r, i, salt);
      a = op == ReduceOp::kSum ? a + b : op == ReduceOp::kMax ? std::max(a, b) : std::min(a, b);
    }
  return result;
}

// The host's copy of a result, made on the context's stream.
template <typename T>
std::vector<T> Read(Context& ctx, const Tensor& t) {
  return t.To(ctx, Device::Cpu()).ToVector<T>();
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_COMM_SUITE_VALUES_H_
