#include "bench/embedding/lookup_check.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "embedding/lookup/element.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

using internal::LoadElement;

// The ids [first, last) of one feature, pooled into `sum`.
template <typename Row>
void Pool(const LookupArgs& args, const LookupFeature& f, int64_t first, int64_t last,
          std::vector<float>& sum) {
  std::fill(sum.begin(), sum.end(), 0.0f);
  const bool none = f.pooling == PoolingType::kNone, weighted = args.weights != nullptr && !none;
  for (int64_t i = first; i < last; ++i) {
    if (!IsRow(f.ids[i], f.num_rows)) continue;
    const Row* row = f.RowAt<Row>(f.ids[i]);
    for (size_t d = 0; d < sum.size(); ++d) {
      const auto value = static_cast<float>(row[d]);
      sum[d] = none ? value : sum[d] + (weighted ? args.weights[i] * value : value);
    }
  }
  if (f.pooling != PoolingType::kMean || last == first) return;
  for (float& s : sum) s = s / static_cast<float>(last - first);
}

void PoolBag(const LookupArgs& args, const LookupFeature& f, int64_t first, int64_t last,
             std::vector<float>& sum) {
  if (f.row_type == DType::kF16) return Pool<Half>(args, f, first, last, sum);
  if (f.row_type == DType::kBF16) return Pool<BFloat16>(args, f, first, last, sum);
  Pool<float>(args, f, first, last, sum);
}

// The ids [first, last): "no ids"; "ids 3, -1, 7 and 297 more".
std::string IdsText(const LookupFeature& f, int64_t first, int64_t last) {
  constexpr int64_t kShown = 3;
  if (first == last) return "no ids";
  std::string text = last - first == 1 ? "id" : "ids";
  for (int64_t i = first; i < std::min(last, first + kShown); ++i)
    text += Format("{} {}", i == first ? "" : ",", f.ids[i]);
  return last - first > kShown ? Format("{} and {} more", text, last - first - kShown) : text;
}

// Compares output `output` of a feature, of the ids [first, last), with `expected`, rounded to its
// type into `rounded`.
void CompareOutput(const LookupFeature& f, size_t feature, int64_t output, int64_t first,
                   int64_t last, const std::vector<float>& expected, std::vector<float>& rounded) {
  const auto size = static_cast<size_t>(SizeOf(f.output_type));
  const char* got =
      static_cast<const char*>(f.output) + static_cast<size_t>(output * f.output_stride) * size;
  for (size_t d = 0; d < expected.size(); ++d)
    internal::StoreElement(rounded.data(), f.output_type, static_cast<int64_t>(d), expected[d]);
  if (std::memcmp(got, rounded.data(), expected.size() * size) == 0) return;
  for (int64_t d = 0; d < f.dim; ++d) {
    const auto at = static_cast<size_t>(d) * size;
    if (std::memcmp(got + at, reinterpret_cast<const char*>(rounded.data()) + at, size) != 0)
      TESSERA_FAIL("feature {}, output {} (of {}), column {}: expected {:.9g}, got {:.9g}", feature,
                   output, IdsText(f, first, last), d,
                   LoadElement(rounded.data(), f.output_type, d),
                   LoadElement(got, f.output_type, d));
  }
}

}  // namespace

void CheckLookup(const LookupArgs& args) {
  for (size_t k = 0; k < args.features.size(); ++k) {
    const LookupFeature& f = args.features[k];
    std::vector<float> sum(static_cast<size_t>(f.dim)), rounded(sum.size());
    const int64_t first_id = args.offsets[f.first_bag];
    const bool none = f.pooling == PoolingType::kNone;
    const int64_t outputs = none ? args.offsets[f.first_bag + f.num_bags] - first_id : f.num_bags;
    for (int64_t output = 0; output < outputs; ++output) {
      const int64_t bag = f.first_bag + output;
      const int64_t first = none ? first_id + output : args.offsets[bag];
      const int64_t last = none ? first + 1 : args.offsets[bag + 1];
      PoolBag(args, f, first, last, sum);
      CompareOutput(f, k, output, first, last, sum, rounded);
    }
  }
}

}  // namespace tessera::bench
