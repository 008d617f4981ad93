// Lines of a user's own files, read as jsonl, csv and tsv by schemas with every kind of entry: rows
// that come are whole, and the same whatever the pieces.
#include <cmath>

#include "data/rows/text_row_source.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {
namespace {

constexpr char kEntries[] = R"(
  "null": "-", "dense": [{"name": "d", "transform": "log1p"},
                         {"name": "v", "size": 2, "separator": ";", "transform": "log+3"}],
  "features": [{"name": "a", "separator": "|", "missing": "row0"},
               {"name": "h", "from": "a", "ids": "hex", "separator": "|", "max_length": 2},
               {"name": "t", "ids": "text", "weight_after": ":", "separator": "|"},
               {"name": "w", "from": "t", "vocabulary": ["x", "y"], "missing": "x"},
               {"name": "b", "from": "d", "boundaries": [0, 2.5], "keep": "last", "drop_last": 1}],
  "labels": [{"name": "y", "missing": "skip"}], "weight": "d"})";

std::shared_ptr<const RowRules> Rules(const char* format) {
  return std::make_shared<const RowRules>(
      ParseDataSchema(Format("{{\"format\": \"{}\",", format) + kEntries),
      std::vector<CategoricalFeature>{
          {"a", 10, false}, {"h", 7, false}, {"t", 0, true}, {"w", 4, false}, {"b", 3, false}});
}

void Check(const Batch& batch) {
  Context ctx({.threads = 1});
  int64_t ids = 0;
  for (const int32_t n : batch.features.lengths(ctx).ToVector<int32_t>()) ids += n;
  if (ids != batch.features.values().numel() || batch.dense.numel() != 3 * batch.size())
    __builtin_trap();
  for (const float x : batch.dense.ToVector<float>())
    if (!std::isfinite(x)) __builtin_trap();
}

void Read(const std::shared_ptr<const RowRules>& rules, const std::string& path) {
  Context ctx({.threads = 1});
  const auto read = [&](bool skip, int64_t piece_bytes) -> AllRows {
    return ReadAllRows(ctx, rules,
                       {.paths = {path}, .skip_bad_lines = skip, .piece_bytes = piece_bytes});
  };
  MayRefuse([&] { Check(read(false, 1 << 16).batch); });
  MayRefuse([&] {
    const AllRows whole = read(true, 1 << 16), pieces = read(true, 5);
    Check(whole.batch);
    if (whole.skipped != pieces.skipped ||
        !SameBits(whole.batch.features.values(), pieces.batch.features.values()))
      __builtin_trap();
  });
}

}  // namespace

std::vector<std::string> Seeds() {
  return {
      "{\"y\": 1, \"d\": 2.5, \"v\": [1, 2], \"a\": [1, 255], \"t\": [\"x:0.5\", \"y:1\"]}\n"
      "{\"a\": \"1|2\", \"z\": {\"q\": [null]}, \"t\": \"\\u00e9:1\", \"v\": \"1;2\"}\n",
      "y,d,v,a,t\n1,2.5,1;2,1|255,x:0.5|y:1\n,,,,\n0,\"1\",\"1;2\",\"7\",\"\"\"x\"\":2\"\r\n",
      "y\td\tv\ta\tt\n1\t2.5\t1;2\t1|255\tx:0.5|y:1\n0\t-\t\t\t\n"};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string path = fuzz::WriteTempFile("rows", fuzz::AsText(data, size));
  // Made once: that takes longer than to read an input.
  static const std::shared_ptr<const RowRules> of_formats[] = {
      fuzz::Rules("jsonl"), fuzz::Rules("csv"), fuzz::Rules("tsv")};
  for (const std::shared_ptr<const RowRules>& rules : of_formats) fuzz::Read(rules, path);
  return 0;
}
