#include "models/item_frequencies.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "embedding/lookup/row_ops.h"
#include "runtime/base/check.h"
#include "runtime/numbers/math.h"

namespace tessera {
namespace {

uint64_t Mixed(uint64_t hash, int64_t number) {
  return MixBits(hash * 31 + MixBits(static_cast<uint64_t>(number)) + 1);
}

}  // namespace

std::vector<int64_t> ItemsOf(Context& ctx, const KeyedJaggedTensor& features,
                             const std::vector<std::string>& names) {
  std::vector<uint64_t> hashes(static_cast<size_t>(features.stride()), 0);
  for (const std::string& name : names) {
    const JaggedTensor bags = features.At(ctx, name);
    const Tensor ids = bags.values().value().To(ctx, DType::kI64).ToHost();
    const Tensor offsets = bags.offsets(ctx).To(ctx, DType::kI64).ToHost();
    const auto id = ids.span<int64_t>(), begin = offsets.span<int64_t>();
    for (size_t row = 0; row < hashes.size(); ++row) {
      hashes[row] = Mixed(hashes[row], begin[row + 1] - begin[row]);
      for (int64_t i = begin[row]; i < begin[row + 1]; ++i)
        hashes[row] = Mixed(hashes[row], id[static_cast<size_t>(i)]);
    }
  }
  return {hashes.begin(), hashes.end()};
}

ItemFrequencies::ItemFrequencies(const SamplingCorrection& options) : options_(options) {
  Context host({.threads = 1});
  last_ = Tensor::Zeros(host, {options.slots}, DType::kI64);
  gap_ = Tensor::Zeros(host, {options.slots});
}

float ItemFrequencies::GapAfter(int64_t slot, int64_t step, int64_t times) const {
  const int64_t last = last_.span<int64_t>()[static_cast<size_t>(slot)];
  TESSERA_CHECK(step > last, "the step {} of items that came in step {} before", step, last);
  const double gap = static_cast<double>(step - last) / static_cast<double>(times);
  if (last == 0) return static_cast<float>(gap);
  const double before = gap_.span<float>()[static_cast<size_t>(slot)];
  return static_cast<float>((1 - options_.alpha) * before + options_.alpha * gap);
}

std::vector<float> ItemFrequencies::Observe(std::span<const int64_t> items, int64_t step) {
  std::vector<std::pair<int64_t, size_t>> slots;  // and the row
  for (size_t row = 0; row < items.size(); ++row)
    slots.emplace_back(static_cast<uint64_t>(items[row]) % static_cast<uint64_t>(options_.slots),
                       row);
  std::ranges::sort(slots);
  std::vector<float> logs(items.size());
  observed_.clear();
  for (size_t begin = 0, end = 0; begin < slots.size(); begin = end) {
    const int64_t slot = slots[begin].first;
    while (end < slots.size() && slots[end].first == slot) ++end;
    const float gap = GapAfter(slot, step, static_cast<int64_t>(end - begin));
    observed_.push_back({slot, step, gap});
    for (size_t i = begin; i < end; ++i)
      logs[slots[i].second] = static_cast<float>(-Log(static_cast<double>(gap)));
  }
  return logs;
}

void ItemFrequencies::Commit() {
  for (const Seen& seen : std::exchange(observed_, {})) {
    last_.span<int64_t>()[static_cast<size_t>(seen.slot)] = seen.last;
    gap_.span<float>()[static_cast<size_t>(seen.slot)] = seen.gap;
  }
}

void ItemFrequencies::CheckState(const std::map<std::string, Tensor>& state) const {
  TESSERA_CHECK(state.size() == 2 && state.contains(kLast) && state.contains(kGap),
                "frequencies of items: expected the states {} and {}, got {} of them", kLast, kGap,
                state.size());
  const Shape shape = {options_.slots};
  const Tensor &last = state.at(kLast), &gap = state.at(kGap);
  TESSERA_CHECK_EQ(last.shape(), shape, "frequencies of items: {}", kLast);
  TESSERA_CHECK_EQ(gap.shape(), shape, "frequencies of items: {}", kGap);
  TESSERA_CHECK_EQ(last.dtype(), DType::kI64, "frequencies of items: {}", kLast);
  TESSERA_CHECK_EQ(gap.dtype(), DType::kF32, "frequencies of items: {}", kGap);
}

void ItemFrequencies::LoadState(const std::map<std::string, Tensor>& state) {
  CheckState(state);
  const Tensor last = state.at(kLast).ToHost(), gap = state.at(kGap).ToHost();
  std::ranges::copy(last.span<int64_t>(), last_.span<int64_t>().begin());
  std::ranges::copy(gap.span<float>(), gap_.span<float>().begin());
}

}  // namespace tessera
