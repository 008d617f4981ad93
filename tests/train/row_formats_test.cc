// Trainings by chance on the same rows, which lie in files of each format: checkpoints and
// evaluations have the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "data/preprocess/parse_rows.h"
#include "runtime/base/joined.h"
#include "runtime/files/safetensors.h"
#include "tests/data/testing/npz_bytes.h"
#include "tests/train/testing/files.h"
#include "train/data_sets.h"
#include "train/run/training_run.h"

namespace tessera {
namespace {

using internal::Joined;
using testing::NpyOf;
using testing::TempPath;
using testing::WriteFile;

constexpr int64_t kRows = 500, kFirstDay = 180;

using Random = std::mt19937_64;

// A number below n.
int64_t Below(Random& random, int64_t n) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
}

// Rows with as many ids in each, as npz days have them.
struct Rows {
  int64_t dense = 0, labels = 0;
  std::vector<int64_t> hot = {};                    // of each feature
  std::vector<float> numbers = {}, targets = {};    // [rows, dense], [rows, labels]
  std::vector<std::vector<int64_t>> features = {};  // [rows, hot]

  std::vector<int64_t> IdsOf(size_t f, int64_t row) const {
    const auto begin = features[f].begin() + row * hot[f];
    return {begin, begin + hot[f]};
  }
};

Rows MakeRows(Random& random) {
  Rows rows{.dense = 1 + Below(random, 3), .labels = 1 + Below(random, 2)};
  for (int64_t i = 0; i < kRows * rows.dense; ++i)
    rows.numbers.push_back(static_cast<float>(Below(random, 4000) - 2000) / 16);
  for (int64_t i = 0; i < kRows * rows.labels; ++i)
    rows.targets.push_back(static_cast<float>(Below(random, 2)));
  for (int64_t f = 1 + Below(random, 3); f > 0; --f) {
    rows.hot.push_back(1 + Below(random, 4));
    std::vector<int64_t>& ids = rows.features.emplace_back();
    const int64_t ranges[] = {40, 1000, int64_t{1} << 40};
    const int64_t range = ranges[Below(random, 3)];
    for (int64_t i = 0; i < kRows * rows.hot.back(); ++i)
      ids.push_back(Below(random, range) - Below(random, 2) * range / 3);
  }
  return rows;
}

// ---- files

template <typename T>
std::vector<T> RowOf(const std::vector<T>& all, int64_t row, int64_t width) {
  return {all.begin() + row * width, all.begin() + (row + 1) * width};
}

std::string JsonLine(const Rows& rows, int64_t row) {
  std::string line = Format("{{\"d\": [{}]", Joined(RowOf(rows.numbers, row, rows.dense), ", "));
  for (size_t f = 0; f < rows.features.size(); ++f)
    line += Format(", \"cat_{}\": [{}]", f, Joined(rows.IdsOf(f, row), ", "));
  for (int64_t t = 0; t < rows.labels; ++t)
    line += Format(", \"y{}\": {}", t, rows.targets[static_cast<size_t>(row * rows.labels + t)]);
  return line + "}\n";
}

std::string Cells(const Rows& rows, int64_t row, const std::string& delimiter) {
  std::string line = Joined(RowOf(rows.numbers, row, rows.dense), "|");
  for (size_t f = 0; f < rows.features.size(); ++f)
    line += delimiter + Joined(rows.IdsOf(f, row), "|");
  return line + delimiter + Joined(RowOf(rows.targets, row, rows.labels), delimiter) + "\n";
}

std::string Heading(const Rows& rows, const std::string& delimiter) {
  std::string line = "d";
  for (size_t f = 0; f < rows.features.size(); ++f) line += Format("{}cat_{}", delimiter, f);
  for (int64_t t = 0; t < rows.labels; ++t) line += Format("{}y{}", delimiter, t);
  return line + "\n";
}

// Two files of lines.
std::vector<std::string> WriteLines(const Rows& rows, const std::string& format) {
  const std::string delimiter = format == "csv" ? "," : "\t";
  std::vector<std::string> paths;
  for (const auto& [begin, end] : {std::pair{int64_t{0}, kFirstDay}, {kFirstDay, kRows}}) {
    std::string text = format == "jsonl" ? "" : Heading(rows, delimiter);
    for (int64_t row = begin; row < end; ++row)
      text += format == "jsonl" ? JsonLine(rows, row) : Cells(rows, row, delimiter);
    const std::string name = Format("rows_{}.{}", begin, format);
    paths.push_back(begin == 0 ? WriteFile(name, text) : testing::WriteGzFile(name + ".gz", text));
  }
  return paths;
}

template <typename T, typename U>
std::string Array(const std::string& descr, const std::vector<U>& all, int64_t width, int64_t begin,
                  int64_t end) {
  return NpyOf(descr, Format("({}, {})", end - begin, width),
               std::vector<T>(all.begin() + begin * width, all.begin() + end * width));
}

// Two days, the ids of the first as i32 where these can hold them.
std::vector<std::string> WriteDays(const Rows& rows) {
  std::vector<std::string> days;
  for (const auto& [begin, end] : {std::pair{int64_t{0}, kFirstDay}, {kFirstDay, kRows}}) {
    const std::string day = Format("day_{}", begin);
    WriteFile(day + "_dense.npy", Array<float>("<f4", rows.numbers, rows.dense, begin, end));
    WriteFile(day + "_labels.npy", Array<int32_t>("<i4", rows.targets, rows.labels, begin, end));
    std::vector<std::pair<std::string, std::string>> arrays;
    for (size_t f = 0; f < rows.features.size(); ++f) {
      const std::vector<int64_t>& ids = rows.features[f];
      const bool narrow = begin == 0 && *std::max_element(ids.begin(), ids.end()) < 5000;
      arrays.emplace_back(std::to_string(f),
                          narrow ? Array<int32_t>("<i4", ids, rows.hot[f], begin, end)
                                 : Array<int64_t>("<i8", ids, rows.hot[f], begin, end));
    }
    WriteFile(day + "_sparse_multi_hot.npz", testing::NpzBytes(arrays));
    days.push_back(TempPath(day));
  }
  return days;
}

// ---- trainings

// Keys of the training that all formats share.
struct Choices {
  std::string missing = {}, split = {}, model = {}, tables = {};
  int64_t outputs = 1;  // of the model
  int64_t batch = 0;
  bool shuffled = false;
};

Choices Choose(const Rows& rows, Random& random) {
  Choices choices{.missing = Below(random, 2) ? R"(, "missing": "row0")" : "",
                  .batch = 16 + Below(random, 60),
                  .shuffled = Below(random, 3) == 0};
  const std::string splits[] = {
      "", R"(, "split": {"by": "random", "fraction": 0.2})",
      R"(, "split": {"by": "key", "feature": "cat_0", "fraction": 0.3, "seed": 4})"};
  choices.split = splits[Below(random, 3)];
  for (size_t f = 0; f < rows.features.size(); ++f)
    choices.tables += Format(
        "{}{{\"name\": \"t{}\", \"rows\": {}, \"dim\": 4, \"features\": [\"cat_{}\"], "
        "\"pooling\": \"{}\"}}",
        f == 0 ? "" : ", ", f, 20 + Below(random, 300), f, Below(random, 2) ? "SUM" : "MEAN");
  choices.model = Format(R"("type": "dlrm", "dense_in": {})", rows.dense);
  if (rows.labels == 2 && Below(random, 3) > 0) {
    choices.outputs = 2;
    choices.model += R"(, "tasks": [{"label": "y1"}, {"label": "y0", "loss": "mse"}])";
  }
  return choices;
}

// `format` is that of the data.
TrainConfig ConfigOf(const Rows& rows, const Choices& choices, const std::string& format) {
  const bool cells = format == "csv" || format == "tsv";
  const std::string separator = cells ? R"(, "separator": "|")" : "";
  std::string features, labels;
  for (size_t f = 0; f < rows.features.size(); ++f)
    features +=
        Format("{}{{\"name\": \"cat_{}\"{}{}}}", f == 0 ? "" : ", ", f, choices.missing, separator);
  for (int64_t t = 0; t < rows.labels; ++t) labels += Format("{}\"y{}\"", t == 0 ? "" : ", ", t);
  const std::string dense =
      Format(R"("dense": [{{"name": "d", "size": {}{}}}], )", rows.dense, separator);
  return ParseTrainConfig(
      Format(R"({{"data": {{"format": "{}", {}"features": [{}], "labels": [{}]{}{}}},
        "tables": [{}], "model": {{{}, "dense_arch": [8, 4], "over_arch": [8, {}]}},
        "optimizer": {{"sparse": {{"name": "rowwise_adagrad", "lr": 0.1}},
                       "dense": {{"name": "adam", "lr": 0.01}}}},
        "train": {{"batch_size": {}, "epochs": 2, "seed": 3}}}})",
             format, dense, features, labels, choices.split,
             choices.shuffled ? R"(, "shuffle": {"seed": 2, "window_rows": 128})" : "",
             choices.tables, choices.model, choices.outputs, choices.batch),
      format);
}

struct Trained {
  std::map<std::string, Tensor> tensors;
  EvaluationValues evaluation;
};

Trained Train(const TrainConfig& config, DataSelection selection, const Choices& choices) {
  if (choices.split.empty()) {
    selection.train_rows = RowRange{0, 400};
    selection.eval_rows = RowRange{400, kRows};
  }
  const std::string path = TempPath("trained");
  Context ctx({.threads = 1, .seed = config.seed});
  Trainer trainer(ctx, config);
  const TrainingRunReport report =
      RunTraining(trainer, DataSets(config, selection), {.checkpoint = path});
  return {ReadSafetensors(ctx, path).tensors, report.evaluation.value()};
}

void ExpectEqual(const Trained& got, const Trained& expected) {
  ASSERT_EQ(got.tensors.size(), expected.tensors.size());
  for (const auto& [name, tensor] : expected.tensors)
    EXPECT_TRUE(SameBits(got.tensors.at(name), tensor)) << name;
  EXPECT_EQ(got.evaluation.loss, expected.evaluation.loss);
  EXPECT_EQ(got.evaluation.auc, expected.evaluation.auc);
}

std::string WriteFolder(const TrainConfig& config, const std::vector<std::string>& lines) {
  DataSchema schema = *config.data.schema;
  ParseRows({.inputs = lines,
             .output = TempPath("folder"),
             .schema = schema,
             .features = Features(config),
             .shard_rows = 130});
  return TempPath("folder");
}

TEST(RowFormats, GiveTheSameTraining) {
  const int rounds = std::getenv("TESSERA_TEST_ALL") != nullptr ? 100 : 6;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(Format("round {}", round));
    Random random(static_cast<uint64_t>(round));
    const Rows rows = MakeRows(random);
    const Choices choices = Choose(rows, random);
    const auto train = [&](const std::string& format, const std::vector<std::string>& files,
                           int threads) {
      return Train(ConfigOf(rows, choices, format), {.files = files, .threads = threads}, choices);
    };
    const std::vector<std::string> csv = WriteLines(rows, "csv");
    const std::string folder = WriteFolder(ConfigOf(rows, choices, "csv"), csv);
    // Shuffled lines have another order than what is mapped.
    ExpectEqual(train("npz", WriteDays(rows), 1), train("csv", {folder}, 1));
    const Trained text = train("csv", csv, 1);
    if (!choices.shuffled) ExpectEqual(train("csv", {folder}, 1), text);
    ExpectEqual(train("tsv", WriteLines(rows, "tsv"), 3), text);
    ExpectEqual(train("jsonl", WriteLines(rows, "jsonl"), 2), text);
  }
}

}  // namespace
}  // namespace tessera
