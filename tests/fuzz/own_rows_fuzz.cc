// Lines of a user's own files, read as jsonl, csv and tsv by schemas with every kind of entry: rows
// that come are whole, and they and the error are the same whatever the pieces and the threads.
#include <cmath>

#include "data/rows/text_row_source.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/same_batches.h"
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
               {"name": "p", "from": "a", "separator": "|", "weights": "k", "max_length": 1,
                "keep": "last"},
               {"name": "b", "from": "d", "boundaries": [0, 2.5], "keep": "last", "drop_last": 1}],
  "labels": [{"name": "y", "missing": "skip"}], "weight": "d"})";

// The last column of the line takes its rest.
constexpr char kRest[] = R"({"format": "csv", "delimiter": " ", "columns": ["s", "d", "i"],
  "dense": [{"name": "d", "missing": "error"}],
  "features": [{"name": "h", "from": "i", "separator": " ", "drop_last": 1, "max_length": 2,
                "keep": "last"},
               {"name": "t", "from": "i", "ids": "text", "separator": " ", "missing": "error"},
               {"name": "u", "from": "s", "vocabulary": ["1", "2 3"]}],
  "labels": [{"name": "y", "from": "d", "at_least": 2}], "time": "s"})";

std::shared_ptr<const RowRules> Rules(const char* format) {
  return std::make_shared<const RowRules>(
      ParseDataSchema(Format("{{\"format\": \"{}\",", format) + kEntries),
      std::vector<CategoricalFeature>{{"a", 10, false},
                                      {"h", 7, false},
                                      {"t", 0, true},
                                      {"w", 4, false},
                                      {"p", 9, false},
                                      {"b", 3, false}});
}

std::shared_ptr<const RowRules> RulesOfRest() {
  return std::make_shared<const RowRules>(
      ParseDataSchema(kRest),
      std::vector<CategoricalFeature>{{"h", 11, false}, {"t", 1 << 20, false}, {"u", 3, false}});
}

// The rows, or why there are none.
struct Outcome {
  AllRows rows = {};
  std::string error = {};
};

Outcome Read(const std::shared_ptr<const RowRules>& rules, const RowFiles& files) {
  Context ctx({.threads = 1});
  Outcome outcome;
  try {
    outcome.rows = ReadAllRows(ctx, rules, files);
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  return outcome;
}

void CheckWhole(const RowRules& rules, const Batch& batch) {
  Context ctx({.threads = 1});
  int64_t ids = 0;
  for (const int32_t n : batch.features.lengths(ctx).ToVector<int32_t>()) ids += n;
  if (ids != batch.features.values().numel()) __builtin_trap();
  if (batch.dense.numel() != rules.layout().dense * batch.size()) __builtin_trap();
  for (const float x : batch.dense.ToVector<float>())
    if (!std::isfinite(x)) __builtin_trap();
}

void Check(const std::shared_ptr<const RowRules>& rules, const std::string& path, int num_threads) {
  Context ctx({.threads = 1});
  for (const bool skip : {false, true}) {
    const Outcome whole = Read(rules, {.paths = {path}, .skip_bad_lines = skip}),
                  pieces = Read(rules, {.paths = {path}, .skip_bad_lines = skip, .piece_bytes = 5}),
                  threads = Read(rules, {.paths = {path},
                                         .skip_bad_lines = skip,
                                         .threads = skip ? num_threads : 1,
                                         .piece_bytes = 40});
    for (const Outcome* other : {&pieces, &threads}) {
      if (whole.error != other->error || whole.rows.skipped != other->rows.skipped)
        __builtin_trap();
      if (whole.error.empty() && !SameBatches(ctx, whole.rows.batch, other->rows.batch))
        __builtin_trap();
    }
    if (whole.error.empty()) CheckWhole(*rules, whole.rows.batch);
  }
}

}  // namespace

std::vector<std::string> Seeds() {
  return {
      "{\"y\": 1, \"d\": 2.5, \"v\": [1, 2], \"a\": [1, 255], \"t\": [\"x:0.5\", \"y:1\"], "
      "\"k\": [0.5, 2]}\n{\"a\": \"1|2\", \"z\": {\"q\": [null]}, \"k\": [1, \"-3e1\"], "
      "\"t\": \"\\u00e9\\ud83d\\ude00:1\", \"v\": \"1;2\"}\n{\"a\": [], \"v\": null, \"d\": "
      "true}\n",
      "y,d,v,a,t,k\n1,2.5,1;2,1|255,x:0.5|y:1,0.5|2\n,,,,,\n"
      "0,\"1\",\"1;2\",\"7|8\",\"\"\"x\"\":2\",\"1|1\"\r\n",
      "\xef\xbb\xbfy\td\tv\ta\tt\tk\n1\t2.5\t1;2\t1|255\tx:0.5|y:1\t3|4\n0\t-\t\t\t\t\n",
      "3 2.5 1 22 -7\n1700000000 1 12 13\n-5 0 \"1 2\"\n"};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string path = fuzz::WriteTempFile("rows", fuzz::AsText(data, size));
  // Made once: that takes longer than to read an input.
  static const std::shared_ptr<const RowRules> of_formats[] = {
      fuzz::Rules("jsonl"), fuzz::Rules("csv"), fuzz::Rules("tsv"), fuzz::RulesOfRest()};
  // Threads take longer to begin than an input to read: every eighth has them.
  static int inputs = 0;
  const int num_threads = inputs++ % 8 == 0 ? 3 : 1;
  for (const std::shared_ptr<const RowRules>& rules : of_formats)
    fuzz::Check(rules, path, num_threads);
  return 0;
}
