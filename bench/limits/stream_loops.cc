#include "bench/limits/stream_loops.h"

#include "runtime/numbers/simd.h"

namespace tessera::bench {
namespace {

using internal::native::Pack;
constexpr int64_t kLine = 16, kPack = Pack::kSize;  // floats

struct Part {
  int64_t begin, end;  // in floats, whole lines
};
Part PartOf(int64_t floats, int64_t part, int64_t parts) {
  const int64_t lines = floats / kLine;
  return {lines * part / parts * kLine, lines * (part + 1) / parts * kLine};
}

}  // namespace

void StreamRead::Run(int64_t part, int64_t parts) const {
  constexpr int64_t kSums = 8;
  const auto [begin, end] = PartOf(floats, part, parts);
  Pack sum[kSums];
  for (Pack& s : sum) s = Pack(0.0f);
  int64_t i = begin;
  for (; i + kSums * kPack <= end; i += kSums * kPack)
    for (int64_t s = 0; s < kSums; ++s) sum[s] = sum[s] + Pack::Load(from + i + s * kPack);
  for (; i < end; i += kPack) sum[0] = sum[0] + Pack::Load(from + i);
  for (int64_t s = 1; s < kSums; ++s) sum[0] = sum[0] + sum[s];
  sums[part] = sum[0].Fold();
}

void StreamCopy::Run(int64_t part, int64_t parts) const {
  const auto [begin, end] = PartOf(floats, part, parts);
  for (int64_t i = begin; i < end; i += kPack) Pack::Load(from + i).Stream(to + i);
}

void StreamWrite::Run(int64_t part, int64_t parts) const {
  const auto [begin, end] = PartOf(floats, part, parts);
  for (int64_t i = begin; i < end; i += kPack) Pack(1.0f).Stream(to + i);
}

}  // namespace tessera::bench
