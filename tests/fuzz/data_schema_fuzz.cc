// Schemas of a user's own files: rules for tables can be made of what is read.
#include "data/rows/row_rules.h"
#include "tests/fuzz/fuzz.h"

namespace tessera::fuzz {

std::vector<std::string> Seeds() {
  return {R"({"format": "csv", "columns": ["y", "c_{0..2}", "w"], "delimiter": ";", "null": "N",
    "dense": [{"name": "d", "from": "c_1", "missing": "error", "transform": "log+3",
               "normalize": [1.5, 2], "size": 2, "separator": "|"}],
    "features": [{"name": "f_{0..1}", "from": "c_{1..2}", "ids": "hex", "missing": "row0"},
                 {"name": "g", "vocabulary": ["a", "b"], "separator": ",", "weight_after": ":",
                  "drop_last": 1, "max_length": 5, "keep": "last", "missing": "a"},
                 {"name": "h", "boundaries": [1, 2.5], "weights": "w"}],
    "labels": ["y", {"name": "l", "at_least": 4, "missing": "skip"}], "weight": "w"})"};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  fuzz::MayRefuse([&] {
    const DataSchema schema = ParseDataSchema(std::string(fuzz::AsText(data, size)));
    std::vector<CategoricalFeature> features;
    for (const FeatureEntry& entry : schema.features) features.push_back({entry.name, 10, false});
    const RowRules rules(schema, features);
    if (rules.layout().dense < 0) __builtin_trap();
  });
  return 0;
}
