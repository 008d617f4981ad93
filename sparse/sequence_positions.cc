#include "sparse/sequence_positions.h"

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

// Bags in their order, each a key's of the result, and the ids that they hold, as runs of those of
// the features that they come from.
struct SplitBags {
  struct Run {
    int64_t begin, end;
  };
  std::vector<std::string> keys;
  std::vector<int64_t> lengths;
  std::vector<Run> runs;
};

// `offsets` has those of the bags of one key: one more than bags.
void AppendWhole(const std::string& key, std::span<const int64_t> offsets, SplitBags& out) {
  out.keys.push_back(key);
  for (size_t b = 0; b + 1 < offsets.size(); ++b)
    out.lengths.push_back(offsets[b + 1] - offsets[b]);
  out.runs.push_back({offsets.front(), offsets.back()});
}

void AppendPositions(const std::string& key, int64_t positions, std::span<const int64_t> offsets,
                     SplitBags& out) {
  for (size_t b = 0; b + 1 < offsets.size(); ++b)
    TESSERA_CHECK(offsets[b + 1] - offsets[b] <= positions,
                  "feature {}: expected at most {} ids in a bag, as many as it has positions, got "
                  "{} in bag {}",
                  key, positions, offsets[b + 1] - offsets[b], b);
  for (int64_t p = 0; p < positions; ++p) {
    out.keys.push_back(PositionKey(key, p));
    for (size_t b = 0; b + 1 < offsets.size(); ++b) {
      const int64_t id = offsets[b] + p;
      const bool there = id < offsets[b + 1];
      out.lengths.push_back(there ? 1 : 0);
      if (there) out.runs.push_back({id, id + 1});
    }
  }
}

// The runs of host memory `from`, one after the other.
Tensor Gathered(const Tensor& from, const std::vector<SplitBags::Run>& runs) {
  const Tensor all = Tensor::EmptyHost(from.shape(), from.dtype());
  const auto item = static_cast<size_t>(SizeOf(from.dtype()));
  const auto* source = static_cast<const std::byte*>(from.raw_data());
  auto* out = static_cast<std::byte*>(all.raw_data());
  for (const auto& [begin, end] : runs) {
    const size_t bytes = static_cast<size_t>(end - begin) * item;
    if (bytes > 0) std::memcpy(out, source + static_cast<size_t>(begin) * item, bytes);
    out += bytes;
  }
  return all;
}

// Throws Error for a key that is there neither whole nor split.
bool AnyIsWhole(const KeyedJaggedTensor& features,
                const std::map<std::string, int64_t>& positions) {
  bool any = false;
  for (const auto& [key, count] : positions) {
    const bool whole = features.Contains(key);
    TESSERA_CHECK(whole || features.Contains(PositionKey(key, 0)), "feature {} is missing", key);
    any = any || whole;
  }
  return any;
}

}  // namespace

std::string PositionKey(const std::string& key, int64_t position) {
  return Format("{}[{}]", key, position);
}

KeyedJaggedTensor SplitIntoPositions(Context& ctx, const KeyedJaggedTensor& features,
                                     const std::map<std::string, int64_t>& positions) {
  if (!AnyIsWhole(features, positions)) return features;
  TESSERA_CHECK(!features.variable_stride_per_key(),
                "features are split into positions: expected as many bags for each, got a variable "
                "batch");
  TESSERA_CHECK(!features.weights_or_none().requires_grad(),
                "features are split into positions: their weights need a gradient, which would not "
                "find its way back");
  const Device device = features.values().device();
  const KeyedJaggedTensor host = features.To(ctx, Device::Cpu());
  Context cpu({.threads = 1});
  const std::vector<int64_t> offsets = host.offsets(cpu).To(cpu, DType::kI64).ToVector<int64_t>();
  const auto bags = static_cast<size_t>(features.stride());
  SplitBags split;
  for (size_t f = 0; f < host.keys().size(); ++f) {
    const std::string& key = host.keys()[f];
    const auto of_key = std::span(offsets).subspan(f * bags, bags + 1);
    const auto found = positions.find(key);
    found == positions.end() ? AppendWhole(key, of_key, split)
                             : AppendPositions(key, found->second, of_key, split);
  }
  const Tensor lengths = Tensor::From(cpu, split.lengths).To(cpu, host.lengths(cpu).dtype());
  const Variable weights =
      host.is_weighted() ? Variable(Gathered(host.weights().value().Contiguous(cpu), split.runs))
                         : Variable();
  return KeyedJaggedTensor::FromLengthsSync(std::move(split.keys),
                                            Gathered(host.values().Contiguous(cpu), split.runs),
                                            lengths, weights)
      .To(ctx, device);
}

}  // namespace tessera
