#include "data/rows/text_times.h"

#include <memory>
#include <string>
#include <vector>

#include "data/rows/row_rules.h"

namespace tessera {
namespace {

// The features by which the last column takes the rest of a line (column_cells.h), without what
// their items are.
std::vector<FeatureEntry> FeaturesOfRest(const DataSchema& schema) {
  std::vector<FeatureEntry> rest;
  for (const FeatureEntry& entry : schema.features)
    if (entry.separator == std::string(1, schema.delimiter))
      rest.push_back({.name = entry.name,
                      .from = entry.from,
                      .ids = IdKind::kVocabulary,
                      .separator = entry.separator});
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
