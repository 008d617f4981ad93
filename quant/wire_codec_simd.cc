// The loops of the wire codecs, compiled once for each instruction set: conversions of 16-bit
// floats by packs, the others as plain loops that the compiler vectorizes.
#include "quant/wire_codec_impl.h"
#include "quant/wire_formulas.h"
#include "runtime/simd.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

// ---- n neighbouring numbers of an element code

template <typename Code>
void EncodeElements(const Code& code, const float* __restrict x, int64_t n,
                    typename Code::Stored* __restrict out) {
  for (int64_t i = 0; i < n; ++i) out[i] = code.Encode(x[i]);
}
template <typename Code>
void DecodeElements(const Code& code, const typename Code::Stored* __restrict in, int64_t n,
                    float* __restrict x) {
  for (int64_t i = 0; i < n; ++i) x[i] = code.Decode(in[i]);
}

template <typename T>
void EncodeElements(const Float16Code<T>& code, const float* x, int64_t n, T* out) {
  int64_t i = 0;
  for (; i + Pack::kSize <= n; i += Pack::kSize) code.Scaled(Pack::Load(x + i)).Store(out + i);
  const int tail = static_cast<int>(n - i);
  if (tail > 0) code.Scaled(Pack::LoadFirst(x + i, tail)).StoreFirst(out + i, tail);
}

// T(p / loss_scale), widened.
template <typename T>
inline __attribute__((always_inline)) Pack Unscaled(Pack p, float loss_scale) {
  T rounded[Pack::kSize];
  (p / Pack(loss_scale)).Store(rounded);
  return Pack::Load(rounded);
}

template <typename T>
void DecodeElements(const Float16Code<T>& code, const T* in, int64_t n, float* x) {
  const bool scaled = code.loss_scale != 1;
  int64_t i = 0;
  for (; i + Pack::kSize <= n; i += Pack::kSize) {
    const Pack p = Pack::Load(in + i);
    (scaled ? Unscaled<T>(p, code.loss_scale) : p).Store(x + i);
  }
  const int tail = static_cast<int>(n - i);
  if (tail == 0) return;
  const Pack p = Pack::LoadFirst(in + i, tail);
  (scaled ? Unscaled<T>(p, code.loss_scale) : p).StoreFirst(x + i, tail);
}

// ---- one block of a block code

RowRange RangeOf(const float* x, int64_t n) {
  RowRange range;
  for (int64_t i = 0; i < n; ++i) range.Add(x[i]);
  return range;
}

template <typename Code>
void EncodeBlock(const float* __restrict x, int64_t n, uint8_t* __restrict out) {
  const auto block = Code::Params::Of(RangeOf(x, n));
  const int64_t used = Code::UsedBytes(n), code_bytes = Code::CodeBytes(n);
  const int64_t whole = n / Code::kPerByte;
  for (int64_t b = 0; b < whole; ++b) out[b] = Code::CodeByte(block, x, n, b);
  if (whole < used) out[whole] = Code::CodeByte(block, x, n, whole);
  for (int64_t b = used; b < code_bytes; ++b) out[b] = 0;
  block.Store(out + code_bytes);
}

template <typename Code>
void DecodeBlock(const uint8_t* __restrict in, int64_t n, float* __restrict x) {
  const auto block = Code::Params::Load(in + Code::CodeBytes(n));
  for (int64_t i = 0; i < n; ++i) x[i] = block.Value(Code::CodeAt(in, i));
}

// fn(first element, elements, first byte) for each block of a row.
template <typename Code, typename Fn>
void ForEachBlock(int64_t row_size, const Fn& fn) {
  const int64_t size = Code::BlockSize(row_size), bytes = Code::BlockBytes(size);
  int64_t at = 0;
  for (int64_t begin = 0; begin < row_size; begin += size, at += bytes)
    fn(begin, row_size - begin < size ? row_size - begin : size, at);
}

// ---- a row

template <ElementCode Code>
void EncodeRow(const Code& code, const float* x, int64_t n, uint8_t* out) {
  EncodeElements(code, x, n, reinterpret_cast<typename Code::Stored*>(out));
}
template <ElementCode Code>
void DecodeRow(const Code& code, const uint8_t* in, int64_t n, float* x) {
  DecodeElements(code, reinterpret_cast<const typename Code::Stored*>(in), n, x);
}
template <typename Code>
void EncodeRow(const Code&, const float* x, int64_t n, uint8_t* out) {
  ForEachBlock<Code>(n, [&](int64_t begin, int64_t size, int64_t at) {
    EncodeBlock<Code>(x + begin, size, out + at);
  });
}
template <typename Code>
void DecodeRow(const Code&, const uint8_t* in, int64_t n, float* x) {
  ForEachBlock<Code>(n, [&](int64_t begin, int64_t size, int64_t at) {
    DecodeBlock<Code>(in + at, size, x + begin);
  });
}

// Element codes don't know rows: those that lie together are one.
template <typename Code>
WireRows Joined(const WireRows& s) {
  if (!ElementCode<Code> || s.row_stride != s.row_size) return s;
  return {s.values, s.bytes, 1, s.rows * s.row_size, s.rows * s.row_size, s.rows * s.row_bytes};
}

}  // namespace

void EncodeRows(const WireCodec& codec, const WireRows& segment) {
  VisitWireCodec(codec, [&]<typename Code>(const Code& code) {
    const WireRows s = Joined<Code>(segment);
    for (int64_t r = 0; r < s.rows; ++r)
      EncodeRow(code, s.values + r * s.row_stride, s.row_size, s.bytes + r * s.row_bytes);
  });
}

void DecodeRows(const WireCodec& codec, const WireRows& segment) {
  VisitWireCodec(codec, [&]<typename Code>(const Code& code) {
    const WireRows s = Joined<Code>(segment);
    for (int64_t r = 0; r < s.rows; ++r)
      DecodeRow(code, s.bytes + r * s.row_bytes, s.row_size, s.values + r * s.row_stride);
  });
}

}  // namespace tessera::internal::TESSERA_ISA
