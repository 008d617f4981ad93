// The loops of the codes of rows, compiled once for each instruction set. Codes with parameters:
// affine_rows.h, block_loops.h.
#include "quant/affine_rows.h"
#include "quant/block_loops.h"
#include "quant/row_code.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

// ---- n neighbouring numbers of an element code: 16-bit floats by packs, the others as plain loops
// that the compiler vectorizes

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

template <typename T, bool kSent>
void EncodeElements(const Float16Code<T, kSent>& code, const float* x, int64_t n, T* out) {
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

template <typename T, bool kSent>
void DecodeElements(const Float16Code<T, kSent>& code, const T* in, int64_t n, float* x) {
  const bool scaled = kSent && code.loss_scale != 1;
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

// Calls fn(first element, elements, first byte) for each block of a row.
template <typename Code, typename Fn>
void ForEachBlock(int64_t row_size, const Fn& fn) {
  const int64_t size = Code::BlockSize(row_size), bytes = Code::BlockBytes(size);
  int64_t at = 0;
  for (int64_t begin = 0; begin < row_size; begin += size, at += bytes)
    fn(begin, row_size - begin < size ? row_size - begin : size, at);
}

// ---- a row

template <ElementCode Code>
void DecodeRow(const Code& code, const uint8_t* in, int64_t n, float* x) {
  DecodeElements(code, reinterpret_cast<const typename Code::Stored*>(in), n, x);
}
template <typename Code>
void DecodeRow(const Code&, const uint8_t* in, int64_t n, float* x) {
  ForEachBlock<Code>(n, [&](int64_t begin, int64_t size, int64_t at) {
    DecodeBlock<Code>(in + at, size, x + begin);
  });
}

// Element codes don't know rows: those that lie together are one.
template <typename Code>
CodedRows Joined(const CodedRows& s) {
  if (!ElementCode<Code> || s.row_stride != s.row_size ||
      s.row_bytes != RowBytesOf<Code>(s.row_size))
    return s;
  return {s.values, s.bytes, 1, s.rows * s.row_size, s.rows * s.row_size, s.rows * s.row_bytes};
}

template <ElementCode Code>
void EncodeSegment(const Code& code, const CodedRows& s, bool /*search*/) {
  for (int64_t r = 0; r < s.rows; ++r) {
    uint8_t* out = s.bytes + r * s.row_bytes;
    EncodeElements(code, s.values + r * s.row_stride, s.row_size,
                   reinterpret_cast<typename Code::Stored*>(out));
    FillUp(out, RowBytesOf<Code>(s.row_size), s.row_bytes);
  }
}

template <typename Code>
requires(Code::Params::kAffine) void EncodeSegment(const Code&, const CodedRows& s, bool search) {
  EncodeAffineRows<Code>(s, search);
}

// The parameters of some rows, then their codes: the long chain of operations from a row's numbers
// to its parameters is hidden behind the other rows.
template <typename Code>
void EncodeSegment(const Code&, const CodedRows& s, bool /*search*/) {
  typename Code::Params blocks[kTileRows];
  const int64_t step = TileRowsOf(s.row_size);
  for (int64_t first = 0; first < s.rows; first += step) {
    const int64_t count = s.rows - first < step ? s.rows - first : step;
    const float* x = s.values + first * s.row_stride;
    uint8_t* out = s.bytes + first * s.row_bytes;
    ForEachBlock<Code>(s.row_size, [&](int64_t begin, int64_t size, int64_t at) {
      for (int64_t r = 0; r < count; ++r)
        blocks[r] =
            Code::Params::Of(RangeOf(x + r * s.row_stride + begin, size, step * s.row_stride));
      for (int64_t r = 0; r < count; ++r)
        EncodeBlock<Code>(blocks[r], x + r * s.row_stride + begin, size,
                          out + r * s.row_bytes + at);
    });
    for (int64_t r = 0; r < count; ++r)
      FillUp(out + r * s.row_bytes, RowBytesOf<Code>(s.row_size), s.row_bytes);
  }
}

}  // namespace

void EncodeRows(const RowCode& code, const CodedRows& segment) {
  VisitRowCode(code, [&]<typename Code>(const Code& formulas) {
    EncodeSegment(formulas, Joined<Code>(segment), code.search);
  });
}

void DecodeRows(const RowCode& code, const CodedRows& segment) {
  VisitRowCode(code, [&]<typename Code>(const Code& formulas) {
    const CodedRows s = Joined<Code>(segment);
    for (int64_t r = 0; r < s.rows; ++r)
      DecodeRow(formulas, s.bytes + r * s.row_bytes, s.row_size, s.values + r * s.row_stride);
  });
}

}  // namespace tessera::internal::TESSERA_ISA
