// The file of a vocabulary, a word a line: each of its words is a row of a table.
#include "data/rows/row_rules.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {

std::vector<std::string> Seeds() {
  return {"shoe\nhat\r\n\xc3\xa9t\xc3\xa9\n\"a,b\"\n", "1\n02\n-3"};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string path = fuzz::WriteTempFile("words", fuzz::AsText(data, size));
  fuzz::MayRefuse([&] {
    const DataSchema schema = ParseDataSchema(
        Format(R"({{"format": "csv", "features": [{{"name": "a", "vocabulary": "{}"}}]}})", path));
    const FeatureEntry& entry = schema.features.at(0);
    const RowRules rules(schema, {{"a", *entry.RowsNeeded(), false}});
    for (const std::string& word : entry.vocabulary) {
      std::string padded = word + std::string(IdRule::kItemPadding, '\0');
      int64_t row = -1;
      ItemCount count;
      const bool read =
          rules.features()[0].ids.Read(std::string_view(padded).substr(0, word.size()), row, count);
      if (!read || row < 0 || row >= *entry.RowsNeeded()) __builtin_trap();
    }
  });
  return 0;
}
