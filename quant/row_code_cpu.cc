// Splits segments over threads and calls the instruction set's loops.
#include <algorithm>
#include <vector>

#include "quant/row_code.h"
#include "quant/row_formulas.h"
#include "runtime/base/isa.h"
#include "runtime/context.h"

namespace tessera::internal {
namespace {

// Numbers that one piece of work encodes: some 20 us.
constexpr int64_t kPieceElements = 1 << 16;

std::vector<CodedRows> CutSegments(std::span<const CodedRows> segments) {
  std::vector<CodedRows> pieces;
  for (const CodedRows& segment : segments) {
    const int64_t step = std::max<int64_t>(1, kPieceElements / segment.row_size);
    for (int64_t begin = 0; begin < segment.rows; begin += step) {
      CodedRows piece = segment;
      piece.values += begin * segment.row_stride;
      piece.bytes += begin * segment.row_bytes;
      piece.rows = std::min(step, segment.rows - begin);
      pieces.push_back(piece);
    }
  }
  return pieces;
}

template <typename Fn>
void ForEachPiece(Context& ctx, std::span<const CodedRows> segments, const Fn& fn) {
  const std::vector<CodedRows> pieces = CutSegments(segments);
  int64_t elements = 0;
  for (const CodedRows& piece : pieces) elements += piece.rows * piece.row_size;
  const auto n = static_cast<int64_t>(pieces.size());
  ParallelFor(ctx, n, elements < kPieceElements ? n : 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) fn(pieces[static_cast<size_t>(i)]);
  });
}

}  // namespace

int64_t CodeRowBytes(const RowCode& code, int64_t row_size) {
  return VisitRowCode(code, [&]<typename Code>(const Code&) { return RowBytesOf<Code>(row_size); });
}

void EncodeRows(OnCpu, Context& ctx, const RowCode& code, std::span<const CodedRows> segments) {
  const IsaLevel isa = ChosenIsa();
  ForEachPiece(ctx, segments,
               [&](const CodedRows& piece) { TESSERA_CALL_ISA(isa, EncodeRows, code, piece); });
}

void DecodeRows(OnCpu, Context& ctx, const RowCode& code, std::span<const CodedRows> segments) {
  const IsaLevel isa = ChosenIsa();
  ForEachPiece(ctx, segments,
               [&](const CodedRows& piece) { TESSERA_CALL_ISA(isa, DecodeRows, code, piece); });
}

}  // namespace tessera::internal
