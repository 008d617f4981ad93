#include "data/rows/text_times.h"

#include <memory>
#include <vector>

#include "data/rows/row_rules.h"

namespace tessera {

LastTime TimesOf(const DataSchema& schema, const RowFiles& files) {
  DataSchema times_alone = schema;
  times_alone.dense.clear();
  times_alone.features.clear();
  times_alone.labels.clear();
  times_alone.weight.clear();
  TextRowReader reader(
      std::make_shared<const RowRules>(times_alone, std::vector<CategoricalFeature>()), files);
  LastTime times;
  while (const auto block = reader.Next()) times.Add(block->time);
  return times;
}

}  // namespace tessera
