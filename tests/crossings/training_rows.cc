#include "tests/crossings/training_rows.h"

#include <cstdint>
#include <fstream>
#include <memory>
#include <vector>

#include "data/preprocess/parse_rows.h"
#include "data/rows/request_schema.h"
#include "data/synthetic/criteo_file_writer.h"
#include "runtime/base/check.h"

namespace tessera::testing {
namespace {

constexpr double kFraction = 0.25;
constexpr char kKey[] = "cat_0";

// Returns a number of rows, of which about config.data.rows are for training.
int64_t RowsOf(const TrainConfig& config) { return config.data.rows / 3 * 4; }

// A permutation of 0 to rows - 1. REQUIRES: rows are no multiple of 37.
int64_t TimeOf(int64_t row, int64_t rows) { return row * 37 % rows; }

SplitOptions SplitOf(SplitBy by) {
  SplitOptions split{.by = by, .fraction = kFraction, .seed = 5};
  if (by == SplitBy::kKey) split.feature = kKey;
  return split;
}

// Lines of planted rows; of a schema, a time and a tab stand before the columns of Criteo.
std::vector<std::string> LinesOf(SplitBy by, const std::string& folder, const TrainConfig& config) {
  const std::string path = folder + "/criteo.tsv";
  const int64_t rows = RowsOf(config);
  WriteCriteoFile(path, ClickModel(config.data.planted), {0, rows});
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    const int64_t row = std::ssize(lines);
    lines.push_back(by == SplitBy::kRandom ? line : Format("{}\t{}", TimeOf(row, rows), line));
  }
  TESSERA_CHECK_EQ(std::ssize(lines), rows, "{}: rows", path);
  return lines;
}

void SetData(SplitBy by, TrainConfig& config) {
  if (by == SplitBy::kRandom) {
    config.data = {.format = DataFormat::kCriteo};
    return;
  }
  std::vector<std::string> names;
  for (const CategoricalFeature& feature : Features(config)) names.push_back(feature.name);
  DataSchema schema = CriteoSchema(MissingIds::kRow0, names);
  schema.columns.insert(schema.columns.begin(), "time");
  schema.time = "time";
  config.data = {.format = DataFormat::kTsv,
                 .schema = std::make_shared<const DataSchema>(std::move(schema))};
}

std::string WriteLines(const std::string& path, const std::vector<std::string>& lines) {
  std::ofstream file(path);
  for (const std::string& line : lines) file << line << '\n';
  return path;
}

// The first id of the key in each row, as the model reads it.
std::vector<int64_t> KeysOf(const std::string& path, const TrainConfig& config) {
  Context host({.threads = 1});
  std::vector<int64_t> keys;
  const DataSets rows(config, {.files = {path}});
  const auto source = rows.OpenInOrder(1000);
  while (const auto batch = source->Next()) {
    const Tensor ids = batch->features.At(host, kKey).values().value().To(host, DType::kI64);
    keys.insert(keys.end(), ids.data<int64_t>(), ids.data<int64_t>() + ids.numel());
  }
  return keys;
}

}  // namespace

DataSelection WriteSplitRows(SplitBy by, const std::string& folder, TrainConfig& config) {
  const std::vector<std::string> lines = LinesOf(by, folder, config);
  SetData(by, config);
  config.data.split = SplitOf(by);
  const std::string text = WriteLines(folder + "/rows.tsv", lines);
  if (by != SplitBy::kTime) return {.files = {text}};
  ParseRows({.inputs = {text},
             .output = folder + "/rows",
             .schema = *config.data.schema,
             .features = Features(config),
             .threads = 1,
             .shard_rows = 100});
  return {.files = {folder + "/rows"}};
}

DataSelection WriteRowsApart(SplitBy by, const std::string& folder, TrainConfig& config) {
  const std::vector<std::string> lines = LinesOf(by, folder, config);
  const int64_t rows = RowsOf(config);
  SetData(by, config);
  SplitOptions split = SplitOf(by);
  split.at = rows - rows / 4;
  const RowFilter filter(split, RowPart::kEval);
  const std::vector<int64_t> keys = KeysOf(WriteLines(folder + "/rows.tsv", lines), config);
  const auto is_eval = [&](int64_t row) {
    if (by == SplitBy::kRandom) return filter.TakesNumber(row);
    return by == SplitBy::kKey ? filter.TakesFirstId(keys[static_cast<size_t>(row)])
                               : filter.TakesTime(TimeOf(row, rows));
  };
  std::vector<std::string> parts[2];
  for (int64_t row = 0; row < rows; ++row)
    parts[is_eval(row) ? 1 : 0].push_back(lines[static_cast<size_t>(row)]);
  return {.files = {WriteLines(folder + "/train.tsv", parts[0])},
          .eval_files = {WriteLines(folder + "/eval.tsv", parts[1])}};
}

}  // namespace tessera::testing
