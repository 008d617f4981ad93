#ifndef TESSERA_EMBEDDING_TABLE_ROW_INIT_IMPL_H_
#define TESSERA_EMBEDDING_TABLE_ROW_INIT_IMPL_H_
// The functions of one element, or of a few columns of a row, that all devices run for row_init.h
// and new_row_init.h.
#include "embedding/lookup/element.h"
#include "embedding/lookup/row_ops.h"
#include "runtime/device/device.h"
#include "runtime/numbers/math.h"
#include "runtime/numbers/random.h"

namespace tessera {
class Context;
}

namespace tessera::internal {

// Element i of FillNormal.
struct NormalElement {
  uint64_t seed, sequence;
  float mean, stddev;
  float* out;

  // A point of the square around the unit circle; whether it lies inside, and not in the middle.
  TESSERA_HD bool Try(uint32_t a, uint32_t b, int64_t i) const {
    const double u = 2.0 * static_cast<double>(UniformFloat(a)) - 1.0;
    const double v = 2.0 * static_cast<double>(UniformFloat(b)) - 1.0, s = u * u + v * v;
    if (s >= 1.0 || s == 0.0) return false;
    const double log = Log2(s) * 0.69314718055994531;
    const double z = u * static_cast<double>(Sqrt(static_cast<float>(-2.0 * log / s)));
    out[i] = mean + stddev * static_cast<float>(z);
    return true;
  }
  // Two points a counter, each good with π/4: 2^9 of them are enough.
  TESSERA_HD void operator()(int64_t i) const {
    for (uint64_t round = 0; round < 256; ++round) {
      const PhiloxBits bits = Philox(seed, sequence, static_cast<uint64_t>(i) << 8 | round);
      if (Try(bits.v[0], bits.v[1], i) || Try(bits.v[2], bits.v[3], i)) return;
    }
    out[i] = mean;
  }
};

// Four columns of a row that starts (new_row_init.h); the row's first and last four may be fewer.
struct StartBlock {
  void* rows;
  DType type;
  int64_t dim;
  IndexArray ids;  // rows are these + begin; without data: begin, begin + 1, …
  int64_t begin, first_row, first_column;
  float low, high;
  uint64_t seed;
  int64_t step;

  TESSERA_HD int64_t blocks() const { return (first_column % 4 + dim + 3) / 4; }  // a row
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t k = i / blocks(), counter = first_column / 4 + i % blocks();
    const int64_t row = begin + (ids.data != nullptr ? ids[k] : k);
    const PhiloxBits bits =
        Philox(seed, static_cast<uint64_t>(first_row + row),
               static_cast<uint64_t>(step) << 32 | static_cast<uint64_t>(counter));
    for (int64_t w = 0; w < 4; ++w)
      if (const int64_t column = counter * 4 + w - first_column; column >= 0 && column < dim)
        StoreElement(rows, type, row * dim + column, low + (high - low) * UniformFloat(bits.v[w]));
  }
};

// An element of an optimizer's state of a row that starts.
struct ClearElement {
  void* rows;
  DType type;
  int64_t dim;
  const int64_t* ids;  // rows are these + begin
  int64_t begin;
  TESSERA_HD void operator()(int64_t i) const {
    StoreElement(rows, type, (begin + ids[i / dim]) * dim + i % dim, 0);
  }
};

// A list of which only the device knows the length: *count, at most `most`.
struct CountedRows {
  const int64_t* count;
  int64_t most;
};
void StartCounted(OnCuda, Context& ctx, const CountedRows& rows, const StartBlock& fn);
void StartCounted(OnCuda, Context& ctx, const CountedRows& rows, const ClearElement& fn);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_TABLE_ROW_INIT_IMPL_H_
