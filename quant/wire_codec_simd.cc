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

// Numbers that a loop takes at a time, known when it is compiled: short rows are vectorized too.
constexpr int kChunk = 16;

typedef int32_t Keys __attribute__((vector_size(Pack::kSize * sizeof(float))));
typedef int32_t UnalignedKeys
    __attribute__((vector_size(Pack::kSize * sizeof(float)), aligned(4), may_alias));

// The element of v that `pick` prefers.
template <int kWidth, typename V, typename Pick>
int32_t FoldKeys(V v, const Pick& pick) {
  if constexpr (kWidth == 16)
    return FoldKeys<8>(pick(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
                            __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15)),
                       pick);
  else if constexpr (kWidth == 8)
    return FoldKeys<4>(
        pick(__builtin_shufflevector(v, v, 0, 1, 2, 3), __builtin_shufflevector(v, v, 4, 5, 6, 7)),
        pick);
  else
    return pick(pick(v[0], v[1]), pick(v[2], v[3]));
}

RowRange RangeOf(const float* x, int64_t n) {
  const auto lower = [](auto a, auto b) { return a < b ? a : b; };
  const auto higher = [](auto a, auto b) { return a > b ? a : b; };
  RowRange range;
  Keys low = Keys{} + range.low, high = Keys{} + range.high;
  int64_t i = 0;
  for (; i + Pack::kSize <= n; i += Pack::kSize) {
    const Keys keys = RowRange::KeyOf(Keys(*reinterpret_cast<const UnalignedKeys*>(x + i)));
    low = lower(keys, low);
    high = higher(keys, high);
  }
  range.Join(FoldKeys<Pack::kSize>(low, lower), FoldKeys<Pack::kSize>(high, higher));
  for (; i < n; ++i) range.Add(x[i]);
  return range;
}

typedef uint32_t Words __attribute__((vector_size(Pack::kSize * sizeof(float)), may_alias));
typedef uint8_t Bytes __attribute__((vector_size(Pack::kSize)));
typedef uint8_t UnalignedBytes __attribute__((vector_size(Pack::kSize), aligned(1), may_alias));

template <typename Block>
void CodesOf(const Block& block, const float* __restrict x, int64_t n, uint8_t* __restrict codes) {
  int64_t i = 0;
  for (; i + kChunk <= n; i += kChunk) {
    alignas(Words) uint32_t wide[kChunk];
    for (int k = 0; k < kChunk; ++k) wide[k] = block.Code(x[i + k]);
    for (int k = 0; k < kChunk; k += Pack::kSize)
      *reinterpret_cast<UnalignedBytes*>(codes + i + k) =
          __builtin_convertvector(*reinterpret_cast<const Words*>(wide + k), Bytes);
  }
  for (; i < n; ++i) codes[i] = static_cast<uint8_t>(block.Code(x[i]));
}
template <typename Block>
void ValuesOf(const Block& block, const uint8_t* __restrict codes, int64_t n, float* __restrict x) {
  int64_t i = 0;
  for (; i + kChunk <= n; i += kChunk)
    for (int k = 0; k < kChunk; ++k) x[i + k] = block.Value(codes[i + k]);
  for (; i < n; ++i) x[i] = block.Value(codes[i]);
}

template <typename Code>
void EncodeBlock(const float* x, int64_t n, uint8_t* out) {
  using Block = typename Code::Params;
  const Block block = Block::Of(RangeOf(x, n));
  const int64_t used = Code::UsedBytes(n), code_bytes = Code::CodeBytes(n);
  if constexpr (Code::kPerByte == 1) {
    CodesOf(block, x, n, out);
  } else {
    uint8_t codes[Block::kLargestBlock + Code::kPerByte] = {};
    CodesOf(block, x, n, codes);
    for (int64_t b = 0; b < used; ++b) out[b] = Code::Packed(codes + b * Code::kPerByte);
  }
  for (int64_t b = used; b < code_bytes; ++b) out[b] = 0;
  block.Store(out + code_bytes);
}

template <typename Code>
void DecodeBlock(const uint8_t* in, int64_t n, float* x) {
  using Block = typename Code::Params;
  const Block block = Block::Load(in + Code::CodeBytes(n));
  if constexpr (Code::kPerByte == 1) {
    ValuesOf(block, in, n, x);
  } else {
    uint8_t codes[Block::kLargestBlock];
    for (int64_t i = 0; i < n; ++i) codes[i] = static_cast<uint8_t>(Code::CodeAt(in, i));
    ValuesOf(block, codes, n, x);
  }
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
