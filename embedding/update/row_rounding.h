#ifndef TESSERA_EMBEDDING_UPDATE_ROW_ROUNDING_H_
#define TESSERA_EMBEDDING_UPDATE_ROW_ROUNDING_H_
// How an updated row, which is f32, becomes one of 16 bits: to nearest (ties to even), or up or
// down by chance, so that steps too small for 16 bits move the row on average and no master copy is
// needed. The chance is a function of seed, step, row and column alone: the same on every machine
// and in every sharding.
#include <cstdint>

#include "runtime/base/host_device.h"
#include "runtime/numbers/float16.h"
#include "runtime/numbers/random.h"

namespace tessera {

struct RowRounding {
  bool stochastic = false;
  uint64_t seed = 0;
  // The number of row 0 and column 0 in the whole table, if this is a part of it. Columns come in
  // blocks of 8.
  int64_t first_row = 0, first_column = 0;
  // If given, row r is row row_ids[r] of the part (a cache of rows) instead.
  const int64_t* row_ids = nullptr;
};

namespace internal {

// 16 random bits for each of 8 neighbouring columns, in v[column / 2 % 4], the lower half first.
// `row` and `column` are those of the whole table.
TESSERA_HD PhiloxBits RoundingBits(uint64_t seed, int64_t step, int64_t row, int64_t column) {
  return Philox(seed, static_cast<uint64_t>(step),
                static_cast<uint64_t>(row) << 20 | static_cast<uint64_t>(column / 8));
}
TESSERA_HD uint32_t RoundingBitsOf(const PhiloxBits& bits, int64_t column) {
  return bits.v[column / 2 % 4] >> (16 * (column % 2)) & 0xffffu;
}

// x rounded up in size if the share of a unit in the last place that is cut off exceeds
// `bits`/65536; above the largest finite number: infinity. NaN and infinity stay.
TESSERA_HD BFloat16 RoundedByChance(BFloat16, float x, uint32_t bits) {
  const uint32_t pattern = std::bit_cast<uint32_t>(x);
  if ((pattern & 0x7f800000u) == 0x7f800000u) return BFloat16(x);
  return BFloat16::FromBits(static_cast<uint16_t>((pattern + (0xffffu - bits)) >> 16));
}

TESSERA_HD Half RoundedByChance(Half, float x, uint32_t bits) {
  const uint32_t pattern = std::bit_cast<uint32_t>(x), magnitude = pattern & 0x7fffffffu;
  if (magnitude >= 0x47800000u) return Half(x);  // 65536 and more, NaN
  uint32_t rounded;
  if (magnitude >= 0x38800000u) {
    rounded = (magnitude - 0x38000000u + (0x1fffu - (bits >> 3))) >> 13;
  } else {  // subnormal: units of 2^-24
    const float units = std::bit_cast<float>(magnitude) * 0x1p24f;
    rounded = static_cast<uint32_t>(units);
    if (units - static_cast<float>(rounded) > static_cast<float>(bits) * 0x1p-16f) ++rounded;
  }
  return Half::FromBits(static_cast<uint16_t>((pattern >> 16 & 0x8000u) | rounded));
}

}  // namespace internal
}  // namespace tessera
#endif  // TESSERA_EMBEDDING_UPDATE_ROW_ROUNDING_H_
