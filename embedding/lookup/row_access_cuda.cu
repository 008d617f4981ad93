// Row access on a GPU.
#include <bit>

#include "embedding/lookup/row_access_impl.h"
#include "runtime/algorithms.h"
#include "runtime/elementwise.cuh"
#include "runtime/launch.cuh"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

using Place = unsigned long long;  // what CUDA's 64-bit atomics take

struct NoteBadId {
  IndexArray ids;
  int64_t rows;
  Place* first;
  __device__ void operator()(int64_t i) const {
    if (!IsRow(ids[i], rows)) atomicMin(first, static_cast<Place>(i));
  }
};

struct CopyId {
  IndexArray from;
  uint64_t* ids;
  uint32_t* places;
  TESSERA_HD void operator()(int64_t i) const {
    ids[i] = static_cast<uint64_t>(from[i]);
    places[i] = static_cast<uint32_t>(i);
  }
};

}  // namespace

int64_t FirstBadId(OnCuda, Context& ctx, IndexArray ids, int64_t n, int64_t rows) {
  const Tensor first = Tensor::From<int64_t>(ctx, {n});
  ForEach(ctx, n, NoteBadId{ids, rows, reinterpret_cast<Place*>(first.data<int64_t>())});
  return ReadScalarSync(ctx, first.data<int64_t>());
}

SortedIds SortIds(OnCuda, Context& ctx, IndexArray ids, int64_t n, int64_t rows) {
  SortedIds sorted;
  for (int i = 0; i < 4; ++i)
    sorted.memory[i] = Tensor::Empty(ctx, {n}, i < 2 ? DType::kI64 : DType::kI32);
  const auto keys = [&](int i) { return static_cast<uint64_t*>(sorted.memory[i].raw_data()); };
  const auto places = [&](int i) {
    return static_cast<uint32_t*>(sorted.memory[2 + i].raw_data());
  };
  ForEach(ctx, n, CopyId{ids, keys(0), places(0)});
  const int bits = std::bit_width(static_cast<uint64_t>(rows));
  const SortedPairs<uint64_t> pairs =
      SortPairs(ctx, keys(0), keys(1), places(0), places(1), n, bits);
  sorted.ids = pairs.keys;
  sorted.places = pairs.values;
  return sorted;
}

TESSERA_ELEMENTWISE_ON_CUDA(GatherElement);
TESSERA_ELEMENTWISE_ON_CUDA(ScatterElement);
TESSERA_ELEMENTWISE_ON_CUDA(ScatterUnit<uint32_t>);
TESSERA_ELEMENTWISE_ON_CUDA(ScatterUnit<uint8_t>);

}  // namespace tessera::internal
