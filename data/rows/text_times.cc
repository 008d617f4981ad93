#include "data/rows/text_times.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "data/rows/row_rules.h"

namespace tessera {
namespace {

// Features for the entries by which the last column takes the rest of a line (column_cells.h),
// without what their items are.
std::vector<FeatureEntry> FeaturesOfRest(const DataSchema& schema) {
  std::vector<FeatureEntry> rest;
  const auto add = [&](const auto& entry) {
    if (entry.separator == std::string(1, schema.delimiter))
      rest.push_back({.name = std::to_string(rest.size()),
                      .from = entry.from,
                      .ids = IdKind::kVocabulary,
                      .separator = entry.separator});
  };
  std::ranges::for_each(schema.features, add);
  std::ranges::for_each(schema.dense, add);
  return rest;
}

}  // namespace

LastTime TimesOf(const DataSchema& schema, const RowFiles& files) {
  DataSchema times_alone = schema;
  times_alone.dense.clear();
  times_alone.features = FeaturesOfRest(schema);
  times_alone.labels.clear();
  times_alone.weight.clear();
  std::vector<CategoricalFeature> read;
  for (const FeatureEntry& entry : times_alone.features) read.push_back({entry.name, 1});
  TextRowReader reader(std::make_shared<const RowRules>(times_alone, read), files);
  LastTime times;
  while (const auto block = reader.Next()) times.Add(block->time);
  return times;
}

}  // namespace tessera
