#ifndef TESSERA_OPTIM_CLIP_GRADIENTS_FORMULAS_H_
#define TESSERA_OPTIM_CLIP_GRADIENTS_FORMULAS_H_
// The norm of many gradients and what is done with it, as functors over pieces or rows
// (runtime/ops/kernels/row_lanes.h). Sums are in double, in the order of runtime/numbers/lanes.h:
// of each piece, then of the pieces. So all devices give the same bits.
#include <cmath>
#include <limits>

#include "optim/parameter_table.h"
#include "runtime/numbers/math.h"

namespace tessera::internal {

struct ClipArgs {
  const float* grad;
  float* out;  // may be grad
  int64_t n;
};

inline constexpr int64_t kClipPiece = 1024;  // elements

// Which norm: (Σ|g|^p)^(1/p), or the largest |g|.
struct NormType {
  double p;
  bool largest;

  // REQUIRES: x >= 0 or NaN.
  TESSERA_HD double Power(double x) const {
    if (p == 1.0) return x;
    if (p == 2.0) return x * x;
    return x > 0.0 && x <= std::numeric_limits<float>::max() ? Pow(x, p) : x;
  }
  TESSERA_HD double Root(double sum) const {
    if (largest || p == 1.0) return sum;
    if (p == 2.0) return std::sqrt(sum);
    return sum > 0.0 && sum <= std::numeric_limits<double>::max() ? Pow(sum, 1.0 / p) : sum;
  }
};

// The elements of a piece.
struct ClipPiece {
  const float* grad;
  float* out;
  int64_t n;

  TESSERA_HD ClipPiece(const ParameterTable<ClipArgs>& table, int64_t piece) {
    const ParameterRow<ClipArgs>& row = RowOfPiece(table, piece);
    const int64_t begin = (piece - row.first) * kClipPiece, left = row.args.n - begin;
    grad = row.args.grad + begin;
    out = row.args.out + begin;
    n = left < kClipPiece ? left : kClipPiece;
  }
};

struct SumPiece {
  ParameterTable<ClipArgs> table;
  NormType norm;
  double* sums;  // one a piece

  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t piece) const {
    const ClipPiece part(table, piece);
    const auto magnitude = [&](int64_t i) {
      return part.grad[i] < 0 ? -part.grad[i] : part.grad[i];
    };
    double sum = 0;
    if (norm.largest) {
      // A maximum would pass over NaN; as infinity it makes itself felt.
      sum = static_cast<double>(lanes.Max(part.n, [&](int64_t i) {
        const float x = magnitude(i);
        return x == x ? x : std::numeric_limits<float>::infinity();
      }));
    } else {
      sum = lanes.Sum(part.n, [&](int64_t i) { return norm.Power(magnitude(i)); });
    }
    if (lanes.first()) sums[piece] = sum;
  }
};

// Row 0 is the sum of the first `own` pieces, row 1 that of the others.
struct SumPieces {
  const double* sums;
  int64_t own, all;
  NormType norm;
  double* totals;

  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t row) const {
    const double* begin = sums + (row == 0 ? 0 : own);
    const int64_t n = row == 0 ? own : all - own;
    double total = 0;
    if (norm.largest) {
      const float most = lanes.Max(n, [&](int64_t i) { return static_cast<float>(begin[i]); });
      total = most > 0 ? static_cast<double>(most) : 0.0;
    } else {
      total = lanes.Sum(n, [&](int64_t i) { return begin[i]; });
    }
    if (lanes.first()) totals[row] = total;
  }
};

// The norm, and min(1, most/(norm + 1e-6)).
struct NormOfTotals {
  const double* totals;  // [2]
  NormType norm;
  double most;
  double* total_norm;
  float* factor;

  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t) const {
    if (!lanes.first()) return;
    const double sum =
        norm.largest ? (totals[0] > totals[1] ? totals[0] : totals[1]) : totals[0] + totals[1];
    *total_norm = norm.Root(sum);
    const double ratio = most / (*total_norm + 1e-6);
    *factor = static_cast<float>(ratio > 1.0 ? 1.0 : ratio);
  }
};

struct ScalePiece {
  ParameterTable<ClipArgs> table;
  const float* factor;

  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t piece) const {
    const ClipPiece part(table, piece);
    const float f = *factor;
    lanes.Each(part.n, [&](int64_t i) { part.out[i] = part.grad[i] * f; });
  }
};

struct ClampPiece {
  ParameterTable<ClipArgs> table;
  float most;

  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t piece) const {
    const ClipPiece part(table, piece);
    lanes.Each(part.n, [&](int64_t i) { part.out[i] = Min(Max(part.grad[i], -most), most); });
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_OPTIM_CLIP_GRADIENTS_FORMULAS_H_
