#ifndef TESSERA_QUANT_WIRE_CODEC_IMPL_H_
#define TESSERA_QUANT_WIRE_CODEC_IMPL_H_
// Private to quant/wire_codec*: segments as the devices see them, and the devices' overloads.
#include <span>

#include "quant/wire_codec.h"
#include "runtime/device.h"

namespace tessera::internal {

// Rows and their bytes; `bytes` is aligned to the codec's elements.
struct WireRows {
  float* values;
  uint8_t* bytes;
  int64_t rows, row_size;
  int64_t row_stride;  // in elements
  int64_t row_bytes;
};

void EncodeRows(OnCpu, Context& ctx, const WireCodec& codec, std::span<const WireRows> segments);
void DecodeRows(OnCpu, Context& ctx, const WireCodec& codec, std::span<const WireRows> segments);
void EncodeRows(OnCuda, Context& ctx, const WireCodec& codec, std::span<const WireRows> segments);
void DecodeRows(OnCuda, Context& ctx, const WireCodec& codec, std::span<const WireRows> segments);

#define TESSERA_DECLARE_WIRE_(isa)                                  \
  namespace isa {                                                   \
  void EncodeRows(const WireCodec& codec, const WireRows& segment); \
  void DecodeRows(const WireCodec& codec, const WireRows& segment); \
  }
TESSERA_DECLARE_WIRE_(baseline)
TESSERA_DECLARE_WIRE_(avx2)
TESSERA_DECLARE_WIRE_(avx512)
#undef TESSERA_DECLARE_WIRE_

}  // namespace tessera::internal
#endif  // TESSERA_QUANT_WIRE_CODEC_IMPL_H_
