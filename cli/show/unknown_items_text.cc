#include "cli/show/unknown_items_text.h"

#include <algorithm>
#include <vector>

#include "cli/show/numbers.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

constexpr size_t kMaxFeatures = 10;

std::vector<FeatureItems> CountsOf(const UnknownItems* items) {
  return items == nullptr ? std::vector<FeatureItems>() : items->WithUnknown();
}

std::string TextOf(const FeatureItems& items) {
  return Format("{} {} ({})", items.feature, Share(items.count.unknown, items.count.items),
                items.words ? "outside its vocabulary: id 0"
                            : Format("beyond the {} rows of its table: modulo", Count(items.rows)));
}

}  // namespace

std::string UnknownItemsText(const UnknownItems* items, const std::string& where) {
  const std::vector<FeatureItems> counts = CountsOf(items);
  if (counts.empty()) return "";
  std::string text = Format("items without an id of their own, in {}: ", where);
  for (size_t i = 0; i < std::min(counts.size(), kMaxFeatures); ++i)
    text += (i == 0 ? "" : ", ") + TextOf(counts[i]);
  if (counts.size() > kMaxFeatures)
    text += Format(", and {} more", Counted(std::ssize(counts) - int64_t{kMaxFeatures}, "feature"));
  return text + "\n";
}

void AddUnknownItems(const UnknownItems* items, const char* key, internal::Json& json) {
  for (const FeatureItems& feature : CountsOf(items))
    json[key][feature.feature] = {{"items", feature.count.items},
                                  {"unknown", feature.count.unknown}};
}

}  // namespace tessera::cli
