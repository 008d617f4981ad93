#ifndef TESSERA_EMBEDDING_LOOKUP_BAG_IDS_CUH_
#define TESSERA_EMBEDDING_LOOKUP_BAG_IDS_CUH_
// The ids and weights of a bag, as a group of lanes of a GPU reads them: a chunk at a time, asked
// for while the rows of the chunk before are on their way. For .cu files.
//
// A group of at least kRowsInFlight lanes asks for one id a lane, by one load, and hands them round
// through shared memory; lanes of smaller groups ask for all of a chunk, which lie side by side.
#include "embedding/lookup/row_ops.h"
#include "runtime/ptx.cuh"

namespace tessera::internal {

// Rows that a lane asks for before it looks at the first: 4 of 16 bytes each, by 32 warps of a
// multiprocessor, are 64 KiB on their way.
inline constexpr int kRowsInFlight = 4;

// Shared memory of a block of kThreads: an id and a weight a thread.
template <int kThreads>
struct IdStage {
  alignas(16) int64_t rows[kThreads];
  alignas(16) float weights[kThreads];
};

// Returns the largest of the warp's lanes.
__device__ __forceinline__ uint32_t LongestOfWarp(uint32_t length) {
#pragma unroll
  for (int half = 16; half > 0; half /= 2) {
    const uint32_t other = __shfl_xor_sync(~0u, length, half);
    length = other > length ? other : length;
  }
  return length;
}

// The ids of a group of at least kRowsInFlight lanes, in chunks of an id a lane.
// All lanes of a warp call each function together.
template <int kThreads>
class StagedIds {
 public:
  static constexpr bool kStaged = true;

  __device__ __forceinline__ StagedIds(IdStage<kThreads>& stage, int log_lanes, int64_t num_rows,
                                       int64_t row_bytes, const float* weights)
      : lane_(static_cast<int>(threadIdx.x) & ((1 << log_lanes) - 1)),
        chunk_(1 << log_lanes),
        num_rows_(num_rows),
        row_bytes_(row_bytes),
        weights_(weights) {
    const int first = (static_cast<int>(threadIdx.x) >> log_lanes) * chunk_;
    staged_rows_ = stage.rows + first;
    staged_weights_ = stage.weights + first;
  }
  __device__ __forceinline__ int chunk() const { return chunk_; }

  // Asks for those of ids [i, i + chunk()) that are before `end`.
  template <typename Feature>
  __device__ __forceinline__ void Ask(const Feature& f, int64_t i, int64_t end) {
    id_ = -1;
    weight_ = 1;
    if (i + lane_ >= end) return;
    id_ = f.Id(i + lane_);
    if (weights_ != nullptr) weight_ = weights_[i + lane_];
  }
  // Makes the chunk that was asked for the one in work. An id that names no row becomes -1, and its
  // weight 1.
  __device__ __forceinline__ void Take() {
    const bool is_row = IsRow(id_, num_rows_);
    __syncwarp();
    staged_rows_[lane_] = is_row ? id_ * row_bytes_ : -1;
    if (weights_ != nullptr) staged_weights_[lane_] = is_row ? weight_ : 1;
    __syncwarp();
  }
  // Rows and weights of ids place … place + kRowsInFlight - 1 of the chunk in work.
  __device__ __forceinline__ void Get(int place, int64_t (&row)[kRowsInFlight],
                                      float (&weight)[kRowsInFlight]) const {
    struct alignas(16) Pair {
      int64_t v[2];
    };
    const Pair* pairs = reinterpret_cast<const Pair*>(staged_rows_ + place);
    const Pair first = pairs[0], second = pairs[1];
    float4 four = {1, 1, 1, 1};
    if (weights_ != nullptr) four = *reinterpret_cast<const float4*>(staged_weights_ + place);
    row[0] = first.v[0];
    row[1] = first.v[1];
    row[2] = second.v[0];
    row[3] = second.v[1];
    weight[0] = four.x;
    weight[1] = four.y;
    weight[2] = four.z;
    weight[3] = four.w;
  }

 private:
  int lane_, chunk_;
  int64_t num_rows_, row_bytes_, id_;
  const float* weights_;
  float weight_;
  int64_t* staged_rows_;
  float* staged_weights_;
};

// The ids of a lane for itself, in chunks of kRowsInFlight.
class OwnIds {
 public:
  static constexpr bool kStaged = false;

  __device__ __forceinline__ OwnIds(int64_t num_rows, int64_t row_bytes, const float* weights)
      : num_rows_(num_rows), row_bytes_(row_bytes), weights_(weights) {}
  __device__ __forceinline__ int chunk() const { return kRowsInFlight; }

  template <typename Feature>
  __device__ __forceinline__ void Ask(const Feature& f, int64_t i, int64_t end) {
#pragma unroll
    for (int u = 0; u < kRowsInFlight; ++u) {
      id_[u] = -1;
      weight_[u] = 1;
      if (i + u >= end) continue;
      id_[u] = f.Id(i + u);
      if (weights_ != nullptr) weight_[u] = weights_[i + u];
    }
  }
  __device__ __forceinline__ void Get(int /*place*/, int64_t (&row)[kRowsInFlight],
                                      float (&weight)[kRowsInFlight]) const {
#pragma unroll
    for (int u = 0; u < kRowsInFlight; ++u) {
      const bool is_row = IsRow(id_[u], num_rows_);
      row[u] = is_row ? id_[u] * row_bytes_ : -1;
      weight[u] = is_row ? weight_[u] : 1;
    }
  }

 private:
  int64_t num_rows_, row_bytes_, id_[kRowsInFlight];
  const float* weights_;
  float weight_[kRowsInFlight];
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_LOOKUP_BAG_IDS_CUH_
