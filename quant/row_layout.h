#ifndef TESSERA_QUANT_ROW_LAYOUT_H_
#define TESSERA_QUANT_ROW_LAYOUT_H_
// Places of codes and parameters in a stored row. Many codecs differ in these alone, and a lookup
// reads them by the same loop.
#include "quant/row_codec.h"

namespace tessera {

// How the numbers of a row are read; kAffine: from codes of 8, 4 or 2 bits, scale and bias.
enum class RowReading : uint8_t {
  kF32,
  kF16,
  kBF16,
  kHfp8,
  kE4M3,
  kE5M2,
  kAffine8,
  kAffine4,
  kAffine2,
  kMx4,
};

struct RowLayout {
  RowReading reading = RowReading::kF32;
  bool f32_params = false;  // scale and bias are f32, not halves
  int32_t codes_at = 0;     // byte of the row
  int32_t params_at = 0;
  int64_t row_bytes = 0;   // from one row to the next
  int64_t used_bytes = 0;  // of these, without the padding
};

// Throws Error as RowBytes does.
RowLayout LayoutOf(const RowCodec& codec, int64_t dim);

}  // namespace tessera
#endif  // TESSERA_QUANT_ROW_LAYOUT_H_
