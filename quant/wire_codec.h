#ifndef TESSERA_QUANT_WIRE_CODEC_H_
#define TESSERA_QUANT_WIRE_CODEC_H_
// Codecs of the f32 rows that ranks send each other. Little endian; a row of D numbers is
//
//   fp32      D floats
//   fp16      D halves of s·x, kept within ±65504; read as half(h / s), s the loss scale
//   bf16      the same with BFloat16 and its largest finite number
//   fp8       D bytes: Hfp8 4/15/0.9375, unscaled: what is beyond ±0.9375 is cut
//   fp8_rows  D bytes Hfp8 4/15/0.9375 of x·q, filled up to a multiple of 4 by zeros, then the f32
//             q = 0.9375 / (1e-20 + max|x|), then 4 zeros
//   fp8_rows_e5   the same with Hfp8 5/31/0.875: TorchRec's fp8 rows of gradients
//   int8      D codes, f32 scale, f32 bias (AffineRow::Fused8)
//   mx4       groups of 32, the last may be shorter: codes of 4 bits, low half first, then the
//             group's exponent byte (mx4.h)
//
// All give the same bytes on every device and instruction set. A row with a NaN decodes as NaN
// throughout in int8 and fp8_rows; fp16 and bf16 keep each NaN; fp8 and mx4 have none and store
// their largest number.
#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace tessera {

enum class WireType { kFp32, kFp16, kBf16, kFp8, kFp8Rows, kFp8RowsE5, kInt8, kMx4 };

struct WireCodec {
  WireType type = WireType::kFp32;
  float loss_scale = 1;  // of fp16 and bf16
  friend bool operator==(const WireCodec&, const WireCodec&) = default;
};
// "int8"; "fp16*32" with a loss scale of 32.
std::string ToString(const WireCodec& codec);
// The inverse. Throws Error for an unknown name, naming those there are, or a loss scale that is
// not positive or of another type than fp16 and bf16.
WireCodec ParseWireCodec(const std::string& text);

// Embeddings go forward, their gradients backward; gradients of dense parameters are added up over
// the ranks (sharding/distributed_model_parallel.h).
struct WireCodecs {
  WireCodec forward, backward, dense = {};
  friend bool operator==(const WireCodecs&, const WireCodecs&) = default;
};
// "fp16" where ParseWireCodecs("fp16") gives these codecs; else "fp16/bf16" if dense is fp32, or
// "fp16/bf16/bf16" with the codec of dense.
std::string ToString(const WireCodecs& codecs);
// The inverse; "fp8_rows" is "fp8_rows/fp8_rows_e5".
WireCodecs ParseWireCodecs(const std::string& text);

enum class WireUse { kPooledAllToAll, kPooledReduceScatter, kSequenceAllToAll };
// Returns the codecs that TorchRec uses in place of `asked`, without saying so: in a reduce-scatter
// fp8 and mx4 become fp16 (forward) or bf16 (backward); then on a CPU bf16 becomes fp16. Tessera
// uses what was asked for; this is for comparisons with TorchRec.
WireCodecs TorchRecFallback(const WireCodecs& asked, DeviceType device, WireUse use);

// Bytes of `elements` numbers in rows of `row_size`. REQUIRES: whole rows.
int64_t EncodedBytes(const WireCodec& codec, int64_t elements, int64_t row_size);

// Rows [n, D] of f32, whose rows are contiguous but may lie apart (a block of columns), and where
// their bytes begin in a buffer: a multiple of 4 in fp32, of 2 in fp16 and bf16.
struct WireSegment {
  Tensor rows;
  int64_t offset = 0;
};
// Writes segments into `bytes` (u8, one-dimensional). Throws Error for one that does not fit.
void EncodeSegments(Context& ctx, const WireCodec& codec, const std::vector<WireSegment>& segments,
                    const Tensor& bytes);
// Reads them: changes the segments' rows.
void DecodeSegments(Context& ctx, const WireCodec& codec, const Tensor& bytes,
                    const std::vector<WireSegment>& segments);

// f32 of any shape, whose last extent is a row -> u8 [EncodedBytes]. fp32: a view, if contiguous.
Tensor Encode(Context& ctx, const WireCodec& codec, const Tensor& rows);
// The inverse; `shape` as that of the rows, bytes u8 [EncodedBytes]. fp32: a view, if aligned.
Tensor Decode(Context& ctx, const WireCodec& codec, const Tensor& bytes, const Shape& shape);

}  // namespace tessera
#endif  // TESSERA_QUANT_WIRE_CODEC_H_
