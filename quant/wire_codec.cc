#include "quant/wire_codec.h"

#include <cmath>

#include "quant/row_code.h"
#include "runtime/base/parse_number.h"
#include "runtime/device/dispatch.h"

namespace tessera {
namespace {

using internal::RowCodeKind;

struct WireName {
  const char* name;
  WireType type;
  RowCodeKind kind;
};
constexpr WireName kNames[] = {
    {"fp32", WireType::kFp32, RowCodeKind::kF32},
    {"fp16", WireType::kFp16, RowCodeKind::kSentF16},
    {"bf16", WireType::kBf16, RowCodeKind::kSentBF16},
    {"fp8", WireType::kFp8, RowCodeKind::kSentHfp8},
    {"fp8_rows", WireType::kFp8Rows, RowCodeKind::kHfp8Rows},
    {"fp8_rows_e5", WireType::kFp8RowsE5, RowCodeKind::kHfp8RowsE5},
    {"int8", WireType::kInt8, RowCodeKind::kInt8F32Tail},
    {"mx4", WireType::kMx4, RowCodeKind::kMx4},
};

const WireName& NameOf(WireType type) {
  for (const WireName& n : kNames)
    if (n.type == type) return n;
  TESSERA_FAIL("unknown wire codec {}", static_cast<int>(type));
}

internal::RowCode CodeOf(const WireCodec& codec) {
  return {NameOf(codec.type).kind, codec.loss_scale};
}

bool TakesLossScale(WireType type) { return type == WireType::kFp16 || type == WireType::kBf16; }

void CheckCodec(const WireCodec& codec) {
  TESSERA_CHECK(codec.loss_scale == 1 || TakesLossScale(codec.type),
                "wire codec {}: only fp16 and bf16 take a loss scale", codec);
  TESSERA_CHECK(codec.loss_scale > 0 && std::isfinite(codec.loss_scale),
                "wire codec {}: expected a positive loss scale, got {}", codec, codec.loss_scale);
}

WireType ParseWireType(const std::string& text) {
  std::string known;
  for (const WireName& n : kNames) {
    if (text == n.name) return n.type;
    known += known.empty() ? "" : ", ";
    known += n.name;
  }
  TESSERA_FAIL("unknown wire codec '{}'; there are {}", text, known);
}

int64_t RowBytes(const WireCodec& codec, int64_t row_size) {
  return internal::CodeRowBytes(CodeOf(codec), row_size);
}

int64_t AlignmentOf(const WireCodec& codec) {
  return codec.type == WireType::kFp32 ? 4 : TakesLossScale(codec.type) ? 2 : 1;
}

// Rows and bytes of one segment.
internal::CodedRows CheckedRows(Context& ctx, const WireCodec& codec, const WireSegment& segment,
                                const Tensor& bytes) {
  const Tensor& rows = segment.rows;
  CheckDevice(ctx, "wire codec", rows);
  TESSERA_CHECK(rows.rank() == 2 && rows.dtype() == DType::kF32,
                "wire codec {}: a segment of {} {}; expected f32 [n, D]", codec, rows.dtype(),
                rows.shape());
  const int64_t row_bytes = rows.numel() > 0 ? RowBytes(codec, rows.dim(1)) : 0,
                size = rows.dim(0) * row_bytes;
  TESSERA_CHECK(0 <= segment.offset && segment.offset + size <= bytes.numel(),
                "wire codec {}: a segment of {} bytes at {} in a buffer of {}", codec, size,
                segment.offset, bytes.numel());
  auto* at = static_cast<uint8_t*>(bytes.raw_data()) + segment.offset;
  TESSERA_CHECK(size == 0 || reinterpret_cast<uintptr_t>(at) % AlignmentOf(codec) == 0,
                "wire codec {}: a segment at byte {}; expected a multiple of {}", codec,
                segment.offset, AlignmentOf(codec));
  return {static_cast<float*>(rows.raw_data()),
          at,
          rows.dim(0),
          rows.dim(1),
          rows.row_stride(),
          row_bytes};
}

std::vector<internal::CodedRows> CheckedSegments(Context& ctx, const WireCodec& codec,
                                                 const std::vector<WireSegment>& segments,
                                                 const Tensor& bytes) {
  CheckCodec(codec);
  CheckDevice(ctx, "wire codec", bytes);
  TESSERA_CHECK(bytes.rank() == 1 && bytes.dtype() == DType::kU8 && bytes.is_contiguous(),
                "wire codec {}: a buffer of {} {}; expected u8, one-dimensional", codec,
                bytes.dtype(), bytes.shape());
  std::vector<internal::CodedRows> checked;
  for (const WireSegment& segment : segments) {
    const internal::CodedRows rows = CheckedRows(ctx, codec, segment, bytes);
    if (rows.rows > 0 && rows.row_size > 0) checked.push_back(rows);
  }
  return checked;
}

// The last extent is a row.
Shape AsRows(const Shape& shape) {
  TESSERA_CHECK(shape.rank() > 0, "wire codec: a tensor without extents");
  const int64_t row_size = shape[shape.rank() - 1];
  return {row_size > 0 ? shape.numel() / row_size : 0, row_size};
}

}  // namespace

std::string ToString(const WireCodec& codec) {
  const char* name = NameOf(codec.type).name;
  return codec.loss_scale == 1 ? name : Format("{}*{}", name, codec.loss_scale);
}

WireCodec ParseWireCodec(const std::string& text) {
  const size_t star = text.find('*');
  WireCodec codec{ParseWireType(text.substr(0, star))};
  TESSERA_CHECK(star == text.npos || ParseNumber(text.substr(star + 1), codec.loss_scale),
                "wire codec '{}': expected a number after '*'", text);
  CheckCodec(codec);
  return codec;
}

std::string ToString(const WireCodecs& codecs) {
  if (codecs == ParseWireCodecs(ToString(codecs.forward))) return ToString(codecs.forward);
  const std::string rows = Format("{}/{}", codecs.forward, codecs.backward);
  return codecs.dense == WireCodec{} ? rows : Format("{}/{}", rows, codecs.dense);
}

WireCodecs ParseWireCodecs(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash != std::string::npos) {
    const std::string rest = text.substr(slash + 1);
    const size_t second = rest.find('/');
    WireCodecs codecs = {ParseWireCodec(text.substr(0, slash)),
                         ParseWireCodec(rest.substr(0, second))};
    if (second != std::string::npos) codecs.dense = ParseWireCodec(rest.substr(second + 1));
    return codecs;
  }
  WireCodecs codecs{ParseWireCodec(text), ParseWireCodec(text)};
  if (codecs.backward.type == WireType::kFp8Rows) codecs.backward.type = WireType::kFp8RowsE5;
  return codecs;
}

WireCodecs TorchRecFallback(const WireCodecs& asked, DeviceType device, WireUse use) {
  const auto used = [&](WireCodec codec, WireType in_sums) {
    const bool narrow = codec.type == WireType::kFp8 || codec.type == WireType::kFp8Rows ||
                        codec.type == WireType::kFp8RowsE5 || codec.type == WireType::kMx4;
    if (use == WireUse::kPooledReduceScatter && narrow) codec.type = in_sums;
    if (device == DeviceType::kCpu && codec.type == WireType::kBf16) codec.type = WireType::kFp16;
    return codec;
  };
  return {used(asked.forward, WireType::kFp16), used(asked.backward, WireType::kBf16), asked.dense};
}

int64_t EncodedBytes(const WireCodec& codec, int64_t elements, int64_t row_size) {
  if (elements == 0) return 0;
  TESSERA_CHECK(elements > 0 && row_size > 0 && elements % row_size == 0,
                "wire codec {}: {} numbers in rows of {}; expected whole rows", codec, elements,
                row_size);
  return elements / row_size * RowBytes(codec, row_size);
}

void EncodeSegments(Context& ctx, const WireCodec& codec, const std::vector<WireSegment>& segments,
                    const Tensor& bytes) {
  const auto checked = CheckedSegments(ctx, codec, segments, bytes);
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::EncodeRows(on, ctx, CodeOf(codec), checked); });
}

void DecodeSegments(Context& ctx, const WireCodec& codec, const Tensor& bytes,
                    const std::vector<WireSegment>& segments) {
  const auto checked = CheckedSegments(ctx, codec, segments, bytes);
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::DecodeRows(on, ctx, CodeOf(codec), checked); });
}

Tensor Encode(Context& ctx, const WireCodec& codec, const Tensor& rows) {
  TESSERA_CHECK_EQ(rows.dtype(), DType::kF32, "wire codec {}", codec);
  const Shape shape = AsRows(rows.shape());
  const int64_t size = EncodedBytes(codec, rows.numel(), shape[1]);
  const Tensor contiguous = rows.rank() == 2 ? rows : rows.Contiguous(ctx);
  if (codec == WireCodec() && contiguous.is_contiguous())
    return contiguous.Reinterpret(0, {size}, DType::kU8);
  Tensor bytes = Tensor::Empty(ctx, {size}, DType::kU8);
  EncodeSegments(ctx, codec, {{rows.rank() == 2 ? rows : contiguous.Reshape(shape)}}, bytes);
  return bytes;
}

Tensor Decode(Context& ctx, const WireCodec& codec, const Tensor& bytes, const Shape& shape) {
  const Shape rows = AsRows(shape);
  TESSERA_CHECK(bytes.dtype() == DType::kU8 &&
                    bytes.shape() == Shape{EncodedBytes(codec, shape.numel(), rows[1])},
                "wire codec {}: {} {} for rows {}; expected u8 [{}]", codec, bytes.dtype(),
                bytes.shape(), shape, EncodedBytes(codec, shape.numel(), rows[1]));
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.raw_data()) % alignof(float) == 0;
  if (codec == WireCodec() && aligned) return bytes.Reinterpret(0, shape, DType::kF32);
  Tensor decoded = Tensor::Empty(ctx, shape);
  DecodeSegments(ctx, codec, bytes, {{decoded.Reshape(rows)}});
  return decoded;
}

}  // namespace tessera
