// The codes of rows on a GPU. A launch serves many segments, which travel with it by value. A
// thread writes or reads four neighbouring numbers of a row; blocks that have parameters are
// encoded by a warp each, since their range has to be known first.
#include "quant/range_search.h"
#include "quant/row_code.h"
#include "quant/row_formulas.h"
#include "runtime/launch.cuh"
#include "runtime/numbers/lanes.h"

namespace tessera::internal {
namespace {

constexpr int kMaxSegments = 64, kQuad = 4;

// Items of several segments, numbered in order: [first[s], first[s + 1]) are those of segment s.
struct Segments {
  CodedRows rows[kMaxSegments];
  int64_t first[kMaxSegments + 1];
  int count;

  struct Item {
    const CodedRows* rows;
    int64_t index;  // within its segment
  };
  TESSERA_HD Item Find(int64_t item) const {
    int low = 0, high = count - 1;
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (first[middle] <= item)
        low = middle;
      else
        high = middle - 1;
    }
    return {&rows[low], item - first[low]};
  }
  int64_t items() const { return first[count]; }
};

// Calls fn for segments, kMaxSegments at a time; `items` is how many a row has.
template <typename Items, typename Fn>
void ForSegments(std::span<const CodedRows> segments, const Items& items, const Fn& fn) {
  for (size_t begin = 0; begin < segments.size(); begin += kMaxSegments) {
    Segments some = {};
    for (const CodedRows& s : segments.subspan(begin)) {
      if (some.count == kMaxSegments) break;
      some.rows[some.count] = s;
      some.first[some.count + 1] = some.first[some.count] + s.rows * items(s.row_size);
      ++some.count;
    }
    fn(some);
  }
}

int64_t QuadsOf(int64_t row_size) { return (row_size + kQuad - 1) / kQuad; }

// Up to four numbers of one row.
struct Quad {
  const CodedRows* rows;
  int64_t row, begin, end;
  TESSERA_HD Quad(const Segments& segments, int64_t i) {
    const Segments::Item item = segments.Find(i);
    rows = item.rows;
    const int64_t quads = (rows->row_size + kQuad - 1) / kQuad;
    row = item.index / quads;
    begin = (item.index - row * quads) * kQuad;
    end = begin + kQuad < rows->row_size ? begin + kQuad : rows->row_size;
  }
  TESSERA_HD float* values() const { return rows->values + row * rows->row_stride; }
  TESSERA_HD uint8_t* bytes() const { return rows->bytes + row * rows->row_bytes; }
};

template <typename Code>
struct EncodeQuad {
  Code code;
  Segments segments;
  TESSERA_HD void operator()(int64_t i) const {
    const Quad quad(segments, i);
    auto* out = reinterpret_cast<typename Code::Stored*>(quad.bytes());
    const float* x = quad.values();
    for (int64_t d = quad.begin; d < quad.end; ++d) out[d] = code.Encode(x[d]);
    if (quad.end == quad.rows->row_size)
      for (int64_t b = RowBytesOf<Code>(quad.end); b < quad.rows->row_bytes; ++b)
        quad.bytes()[b] = 0;
  }
};

template <typename Code>
struct DecodeQuad {
  Code code;
  Segments segments;
  TESSERA_HD void operator()(int64_t i) const {
    const Quad quad(segments, i);
    float* x = quad.values();
    if constexpr (ElementCode<Code>) {
      const auto* in = reinterpret_cast<const typename Code::Stored*>(quad.bytes());
      for (int64_t d = quad.begin; d < quad.end; ++d) x[d] = code.Decode(in[d]);
    } else {
      const int64_t row_size = quad.rows->row_size, size = Code::BlockSize(row_size);
      const int64_t k = quad.begin / size, rest = row_size - k * size;
      const uint8_t* in = quad.bytes() + k * Code::BlockBytes(size);
      const auto block = Code::Params::Load(in + Code::ParamsAt(rest < size ? rest : size));
      for (int64_t d = quad.begin; d < quad.end; ++d)
        x[d] = block.Value(Code::CodeAt(in + Code::CodesAt(), d - k * size));
    }
  }
};

__device__ __forceinline__ ValueRange RangeOverWarp(ValueRange range) {
#pragma unroll
  for (int flip = 16; flip > 0; flip /= 2)
    range.Join(__shfl_xor_sync(~0u, range.low, flip), __shfl_xor_sync(~0u, range.high, flip));
  return range;
}

template <typename Block>
__device__ float SquaredError(const Block& block, const float* x, int64_t n, int64_t lane) {
  float sum = 0;
  for (int64_t i = lane; i < n; i += kLanes) {
    const float d = x[i] - block.Value(block.Code(x[i]));
    sum += d * d;
  }
#pragma unroll
  for (int flip = kLanes / 2; flip > 0; flip /= 2) sum += __shfl_xor_sync(~0u, sum, flip);
  return sum;
}

template <typename Block>
__device__ Block ParamsOf(const float* x, int64_t n, int64_t lane, bool search) {
  ValueRange range;
  for (int64_t d = lane; d < n; d += kLanes) range.Add(x[d]);
  range = RangeOverWarp(range);
  if constexpr (Block::kSearchable)
    if (search)
      return SearchRange(
          range, [](const ValueRange& part) { return Block::Of(part); },
          [&](const Block& block) { return SquaredError(block, x, n, lane); });
  return Block::Of(range);
}

// A warp a block.
template <typename Code>
__global__ void EncodeBlocksKernel(const __grid_constant__ Segments segments, int64_t blocks,
                                   bool search) {
  const int64_t lane = threadIdx.x % 32, warps = int64_t{gridDim.x} * blockDim.x / 32;
  int64_t i = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  for (; i < blocks; i += warps) {
    const Segments::Item item = segments.Find(i);
    const CodedRows& s = *item.rows;
    const int64_t size = Code::BlockSize(s.row_size), per_row = Code::BlocksOf(s.row_size);
    const int64_t row = item.index / per_row, k = item.index - row * per_row;
    const int64_t rest = s.row_size - k * size, n = rest < size ? rest : size;
    const float* x = s.values + row * s.row_stride + k * size;
    uint8_t* out = s.bytes + row * s.row_bytes + k * Code::BlockBytes(size);
    const auto block = ParamsOf<typename Code::Params>(x, n, lane, search);
    const int64_t used = Code::UsedBytes(n), code_bytes = Code::CodeBytes(n);
    for (int64_t b = lane; b < code_bytes; b += kLanes)
      out[Code::CodesAt() + b] = b < used ? Code::CodeByte(block, x, n, b) : uint8_t{0};
    if (lane == 0) block.Store(out + Code::ParamsAt(n));
    if (k == per_row - 1)
      for (int64_t b = Code::BlockBytes(n) + lane; b < s.row_bytes - k * Code::BlockBytes(size);
           b += kLanes)
        out[b] = 0;
  }
}

template <typename Code>
void LaunchEncodeBlocks(Context& ctx, bool search, std::span<const CodedRows> segments) {
  constexpr int kThreads = 256;
  ForSegments(segments, Code::BlocksOf, [&](const Segments& some) {
    const int64_t needed = (some.items() * 32 + kThreads - 1) / kThreads;
    const int64_t most = int64_t{32} * PropertiesOf(ctx.device()).multiprocessors;
    Launch(ctx, EncodeBlocksKernel<Code>, dim3(static_cast<unsigned>(std::min(needed, most))),
           dim3(kThreads), 0, some, some.items(), search);
  });
}

}  // namespace

void EncodeRows(OnCuda, Context& ctx, const RowCode& code, std::span<const CodedRows> segments) {
  VisitRowCode(code, [&]<typename Code>(const Code& formulas) {
    if constexpr (ElementCode<Code>)
      ForSegments(segments, QuadsOf, [&](const Segments& some) {
        ForEach(ctx, some.items(), EncodeQuad<Code>{formulas, some});
      });
    else
      LaunchEncodeBlocks<Code>(ctx, code.search, segments);
  });
}

void DecodeRows(OnCuda, Context& ctx, const RowCode& code, std::span<const CodedRows> segments) {
  VisitRowCode(code, [&]<typename Code>(const Code& formulas) {
    ForSegments(segments, QuadsOf, [&](const Segments& some) {
      ForEach(ctx, some.items(), DecodeQuad<Code>{formulas, some});
    });
  });
}

}  // namespace tessera::internal
