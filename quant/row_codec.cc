#include "quant/row_codec.h"

#include <bit>
#include <iterator>
#include <string_view>

#include "quant/row_code.h"
#include "quant/row_layout.h"
#include "runtime/base/parse_number.h"
#include "runtime/base/size_limits.h"
#include "runtime/device/dispatch.h"

namespace tessera {
namespace {

using internal::RowCodeKind;

struct TypeInfo {
  RowType type;
  const char* name;
  RowCodeKind kind;
  RowReading reading;
  int dim_multiple = 1;
  bool searchable = false;
  // These describe affine codes.
  int bits = 0;
  bool front = false, f32_params = false;
};

// In the order of RowType.
constexpr TypeInfo kTypes[] = {
    {RowType::kF32, "f32", RowCodeKind::kF32, RowReading::kF32},
    {RowType::kF16, "f16", RowCodeKind::kF16, RowReading::kF16},
    {RowType::kBF16, "bf16", RowCodeKind::kBF16, RowReading::kBF16},
    {RowType::kBF16HalfAway, "bf16_half_away", RowCodeKind::kBF16HalfAway, RowReading::kBF16},
    {RowType::kHfp8, "hfp8", RowCodeKind::kHfp8, RowReading::kHfp8},
    {RowType::kE4M3, "e4m3", RowCodeKind::kE4M3, RowReading::kE4M3},
    {RowType::kE5M2, "e5m2", RowCodeKind::kE5M2, RowReading::kE5M2},
    {RowType::kInt8, "int8", RowCodeKind::kInt8, RowReading::kAffine8, 1, true, 8, true},
    {RowType::kInt4, "int4", RowCodeKind::kInt4, RowReading::kAffine4, 2, true, 4, true},
    {RowType::kInt2, "int2", RowCodeKind::kInt2, RowReading::kAffine2, 4, true, 2, true},
    {RowType::kInt8Exact, "int8_exact", RowCodeKind::kInt8Exact, RowReading::kAffine8, 1, false, 8,
     true},
    {RowType::kInt8Tail, "int8_tail", RowCodeKind::kInt8Tail, RowReading::kAffine8, 2, true, 8},
    {RowType::kInt4Tail, "int4_tail", RowCodeKind::kInt4Tail, RowReading::kAffine4, 4, true, 4},
    {RowType::kInt2Tail, "int2_tail", RowCodeKind::kInt2Tail, RowReading::kAffine2, 8, true, 2},
    {RowType::kInt8F32, "int8_f32", RowCodeKind::kInt8F32, RowReading::kAffine8, 1, false, 8, true,
     true},
    {RowType::kInt8F32Tail, "int8_f32_tail", RowCodeKind::kInt8F32Tail, RowReading::kAffine8, 1,
     false, 8, false, true},
    {RowType::kMx4, "mx4", RowCodeKind::kMx4, RowReading::kMx4},
    {RowType::kMx4Floor, "mx4_floor", RowCodeKind::kMx4Floor, RowReading::kMx4},
    {RowType::kMx4Ceil, "mx4_ceil", RowCodeKind::kMx4Ceil, RowReading::kMx4},
    {RowType::kMx4Nearest, "mx4_nearest", RowCodeKind::kMx4Nearest, RowReading::kMx4},
};

constexpr bool InOrder() {
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (static_cast<size_t>(kTypes[i].type) != i) return false;
  return true;
}
static_assert(InOrder());

const TypeInfo& InfoOf(RowType type) {
  const auto i = static_cast<size_t>(type);
  TESSERA_CHECK(i < std::size(kTypes), "unknown row type {}", i);
  return kTypes[i];
}

RowType ParseRowType(const std::string& text) {
  std::string known;
  for (const TypeInfo& info : kTypes) {
    if (text == info.name) return info.type;
    known += known.empty() ? "" : ", ";
    known += info.name;
  }
  TESSERA_FAIL("unknown row codec '{}'; there are {}", text, known);
}

bool IsAlignment(int64_t n) {
  return n >= 1 && n <= RowCodec::kMaxAlignment && std::has_single_bit(static_cast<uint64_t>(n));
}

void CheckRows(const Context& ctx, const RowCodec& codec, const Tensor& rows) {
  CheckDevice(ctx, "row codec", rows);
  TESSERA_CHECK(rows.rank() == 2 && rows.dtype() == DType::kF32,
                "row codec {}: rows of {} {}; expected f32 [E, D]", codec, rows.dtype(),
                rows.shape());
}

void CheckBytes(const Context& ctx, const RowCodec& codec, const Tensor& bytes,
                const Shape& expected) {
  CheckDevice(ctx, "row codec", bytes);
  TESSERA_CHECK(bytes.dtype() == DType::kU8 && bytes.shape() == expected && bytes.is_contiguous(),
                "row codec {}: bytes {} {}; expected u8 {}, contiguous", codec, bytes.dtype(),
                bytes.shape(), expected);
  const int64_t alignment = codec.type == RowType::kF32 ? 4 : 2;
  TESSERA_CHECK(reinterpret_cast<uintptr_t>(bytes.raw_data()) % alignment == 0,
                "row codec {}: bytes that are not aligned to {}", codec, alignment);
}

internal::CodedRows Coded(const RowCodec& codec, const Tensor& rows, const Tensor& bytes) {
  return {static_cast<float*>(rows.raw_data()),
          static_cast<uint8_t*>(bytes.raw_data()),
          rows.dim(0),
          rows.dim(1),
          rows.row_stride(),
          RowBytes(codec, rows.dim(1))};
}

}  // namespace

std::string ToString(const RowCodec& codec) {
  const char* name = InfoOf(codec.type).name;
  return codec.alignment == 16 ? name : Format("{}@{}", name, codec.alignment);
}

RowCodec ParseRowCodec(const std::string& text) {
  const size_t at = text.find('@');
  RowCodec codec{ParseRowType(text.substr(0, at))};
  if (at == std::string::npos) return codec;
  if (!ParseNumber(std::string_view(text).substr(at + 1), codec.alignment) ||
      !IsAlignment(codec.alignment))
    throw Error(Format("row codec '{}': expected an alignment after '@': a power of two, 1 to {}",
                       text, RowCodec::kMaxAlignment));
  return codec;
}

int64_t UnpaddedRowBytes(const RowCodec& codec, int64_t dim) {
  const TypeInfo& info = InfoOf(codec.type);
  TESSERA_CHECK_GE(dim, 1, "row codec {}: dim", codec);
  TESSERA_CHECK_LE(dim, SizeLimits::kElements, "row codec {}: dim", codec);
  TESSERA_CHECK(dim % info.dim_multiple == 0,
                "row codec {}: dim {}; its codes fill whole {} for multiples of {} only", codec,
                dim, info.dim_multiple * info.bits == 16 ? "pairs of bytes" : "bytes",
                info.dim_multiple);
  return internal::CodeRowBytes({info.kind}, dim);
}

int64_t RowBytes(const RowCodec& codec, int64_t dim) {
  TESSERA_CHECK(IsAlignment(codec.alignment),
                "row codec {}: alignment {}; expected a power of two, 1 to {}",
                InfoOf(codec.type).name, codec.alignment, RowCodec::kMaxAlignment);
  return (UnpaddedRowBytes(codec, dim) + codec.alignment - 1) / codec.alignment * codec.alignment;
}

bool TakesSearch(RowType type) { return InfoOf(type).searchable; }

void EncodeRowsInto(Context& ctx, const RowCodec& codec, const Tensor& rows, const Tensor& bytes,
                    const EncodeOptions& options) {
  CheckRows(ctx, codec, rows);
  CheckBytes(ctx, codec, bytes, {rows.dim(0), RowBytes(codec, rows.dim(1))});
  const TypeInfo& info = InfoOf(codec.type);
  TESSERA_CHECK(info.searchable || !options.search,
                "row codec {}: it has no range to search for; int8, int4, int2 and those with "
                "_tail have",
                codec);
  if (rows.dim(0) == 0) return;
  const internal::RowCode code{info.kind, 1, options.search};
  const internal::CodedRows coded = Coded(codec, rows, bytes);
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::EncodeRows(on, ctx, code, std::span(&coded, 1)); });
}

Tensor EncodeRows(Context& ctx, const RowCodec& codec, const Tensor& rows,
                  const EncodeOptions& options) {
  CheckRows(ctx, codec, rows);
  Tensor bytes = Tensor::Empty(ctx, {rows.dim(0), RowBytes(codec, rows.dim(1))}, DType::kU8);
  EncodeRowsInto(ctx, codec, rows, bytes, options);
  return bytes;
}

Tensor DecodeRows(Context& ctx, const RowCodec& codec, const Tensor& bytes, int64_t dim) {
  TESSERA_CHECK_EQ(bytes.rank(), 2, "row codec {}: rank of the bytes", codec);
  CheckBytes(ctx, codec, bytes, {bytes.dim(0), RowBytes(codec, dim)});
  Tensor rows = Tensor::Empty(ctx, {bytes.dim(0), dim});
  if (rows.dim(0) == 0) return rows;
  const internal::RowCode code{InfoOf(codec.type).kind};
  const internal::CodedRows coded = Coded(codec, rows, bytes);
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::DecodeRows(on, ctx, code, std::span(&coded, 1)); });
  return rows;
}

RowLayout LayoutOf(const RowCodec& codec, int64_t dim) {
  const TypeInfo& info = InfoOf(codec.type);
  RowLayout layout{
      info.reading, info.f32_params, 0, 0, RowBytes(codec, dim), UnpaddedRowBytes(codec, dim)};
  if (info.bits == 0) return layout;
  const auto code_bytes = static_cast<int32_t>(dim * info.bits / 8);
  layout.codes_at = info.front ? (info.f32_params ? 8 : 4) : 0;
  layout.params_at = info.front ? 0 : code_bytes;
  return layout;
}

}  // namespace tessera
