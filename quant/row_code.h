#ifndef TESSERA_QUANT_ROW_CODE_H_
#define TESSERA_QUANT_ROW_CODE_H_
// Every code of a row there is, stored or sent, and the loops that turn rows of f32 into bytes and
// back on each device. row_codec.h and wire_codec.h say what each code is.
#include <span>

#include "runtime/base/isa.h"
#include "runtime/context.h"

namespace tessera::internal {

enum class RowCodeKind {
  // each number alone
  kF32,
  kF16,
  kBF16,
  kBF16HalfAway,
  kHfp8,
  kE4M3,
  kE5M2,
  kSentF16,
  kSentBF16,
  kSentHfp8,
  // with the parameters of a row, or a group
  kHfp8Rows,
  kHfp8RowsE5,
  kInt8,
  kInt4,
  kInt2,
  kInt8Exact,
  kInt8Tail,
  kInt4Tail,
  kInt2Tail,
  kInt8F32,
  kInt8F32Tail,
  kMx4,
  kMx4Floor,
  kMx4Ceil,
  kMx4Nearest,
};

struct RowCode {
  RowCodeKind kind = RowCodeKind::kF32;
  float loss_scale = 1;  // of kSentF16 and kSentBF16
  bool search = false;   // the range of a row is searched for (range_search.h), where it may be
};

// Rows and their bytes; `bytes` is aligned to the code's elements.
struct CodedRows {
  float* values;
  uint8_t* bytes;
  int64_t rows, row_size;
  int64_t row_stride;  // in elements
  int64_t row_bytes;   // from one row to the next: what the code does not need is filled with zeros
};

// Bytes of a row, without padding.
int64_t CodeRowBytes(const RowCode& code, int64_t row_size);

// Fill bytes, or values. The same bits on every device and instruction set.
void EncodeRows(OnCpu, Context& ctx, const RowCode& code, std::span<const CodedRows> segments);
void DecodeRows(OnCpu, Context& ctx, const RowCode& code, std::span<const CodedRows> segments);
void EncodeRows(OnCuda, Context& ctx, const RowCode& code, std::span<const CodedRows> segments);
void DecodeRows(OnCuda, Context& ctx, const RowCode& code, std::span<const CodedRows> segments);

#define TESSERA_DECLARE_ROW_CODE_(isa)                            \
  namespace isa {                                                 \
  void EncodeRows(const RowCode& code, const CodedRows& segment); \
  void DecodeRows(const RowCode& code, const CodedRows& segment); \
  }
TESSERA_FOR_EACH_ISA(TESSERA_DECLARE_ROW_CODE_)
#undef TESSERA_DECLARE_ROW_CODE_

}  // namespace tessera::internal
#endif  // TESSERA_QUANT_ROW_CODE_H_
