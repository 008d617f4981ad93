#ifndef TESSERA_QUANT_QUANTIZE_TABLE_IMPL_H_
#define TESSERA_QUANT_QUANTIZE_TABLE_IMPL_H_
// The function of one row of a block that both devices run for quantize_table.h.
#include "quant/value_range.h"
#include "runtime/base/host_device.h"
#include "runtime/context.h"

namespace tessera::internal {

// Rows of f32 [n, dim], contiguous.
struct FloatRows {
  float* values;
  int64_t dim;
  TESSERA_HD float* Row(int64_t r) const { return values + r * dim; }
};

TESSERA_HD bool IsNan(float x) { return (std::bit_cast<uint32_t>(x) & 0x7fffffffu) > 0x7f800000u; }

// Whether a row has a NaN; with `zero`, NaNs become 0.
struct MarkNan {
  FloatRows rows;
  uint8_t* has_nan;
  bool zero;
  TESSERA_HD void operator()(int64_t r) const {
    float* row = rows.Row(r);
    uint32_t any = 0;
    for (int64_t d = 0; d < rows.dim; ++d) any |= IsNan(row[d]);
    has_nan[r] = static_cast<uint8_t>(any);
    if (!zero || any == 0) return;
    for (int64_t d = 0; d < rows.dim; ++d)
      if (IsNan(row[d])) row[d] = 0.0f;
  }
};

// Difference between a row x and what it decodes as: the largest one, and sums of squares, over
// the numbers that are finite in both; how many those are, and how many are finite in x alone.
struct RowDifference {
  double max, squares, value_squares, compared, lost;
};

TESSERA_HD bool IsFinite(float x) {
  return (std::bit_cast<uint32_t>(x) & 0x7f800000u) != 0x7f800000u;
}

struct CompareRows {
  FloatRows x, decoded;
  RowDifference* out;
  TESSERA_HD void operator()(int64_t r) const {
    // Number of sums that hides the latency of an addition.
    constexpr int kSums = 4;
    const float *a = x.Row(r), *b = decoded.Row(r);
    double max[kSums] = {}, squares[kSums] = {}, value_squares[kSums] = {};
    for (int64_t d = 0; d < x.dim; ++d) {
      const auto k = static_cast<int>(d % kSums);
      const double value = a[d], difference = value - static_cast<double>(b[d]),
                   magnitude = difference < 0 ? -difference : difference;
      max[k] = magnitude > max[k] ? magnitude : max[k];
      squares[k] += difference * difference;
      value_squares[k] += value * value;
    }
    RowDifference all = {};
    all.compared = static_cast<double>(x.dim);
    for (int k = 0; k < kSums; ++k) {
      all.max = max[k] > all.max ? max[k] : all.max;
      all.squares += squares[k];
      all.value_squares += value_squares[k];
    }
    // Squares of differences of finite floats never leave the range of a double.
    out[r] = all.squares - all.squares == 0 ? all : OfFinite(a, b);
  }

 private:
  TESSERA_HD RowDifference OfFinite(const float* a, const float* b) const {
    RowDifference all = {};
    for (int64_t d = 0; d < x.dim; ++d) {
      if (!IsFinite(a[d])) continue;
      if (!IsFinite(b[d])) {
        all.lost += 1;
        continue;
      }
      const double value = a[d], difference = value - static_cast<double>(b[d]),
                   magnitude = difference < 0 ? -difference : difference;
      all.max = magnitude > all.max ? magnitude : all.max;
      all.squares += difference * difference;
      all.value_squares += value * value;
      all.compared += 1;
    }
    return all;
  }
};

void ForRows(OnCpu, Context& ctx, int64_t rows, const MarkNan& fn);
void ForRows(OnCpu, Context& ctx, int64_t rows, const CompareRows& fn);
void ForRows(OnCuda, Context& ctx, int64_t rows, const MarkNan& fn);
void ForRows(OnCuda, Context& ctx, int64_t rows, const CompareRows& fn);

}  // namespace tessera::internal
#endif  // TESSERA_QUANT_QUANTIZE_TABLE_IMPL_H_
