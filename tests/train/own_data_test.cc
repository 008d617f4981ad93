// A user's own files in training: Criteo's rows by a schema give the bits of the format "criteo",
// and what does not fit is an error before anything starts.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "data/batch_rows.h"
#include "data/preprocess/parse_rows.h"
#include "data/synthetic/criteo_file_writer.h"
#include "runtime/files/safetensors.h"
#include "tests/data/testing/same_batch.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/small_run.h"
#include "train/data_sets.h"
#include "train/run/training_run.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::TempPath;
using testing::WriteFile;

std::string Criteo() {
  const std::string path = TempPath("clicks.tsv");
  WriteCriteoFile(path, ClickModel({.vocabulary = 50, .missing_rate = 0.2, .strength = 3}),
                  {0, 1000});
  return path;
}

constexpr char kCriteoSchema[] = R"({
  "format": "tsv", "columns": ["label", "int_{0..12}", "cat_{0..25}"],
  "dense": [{"name": "int_{0..12}", "transform": "log1p"}],
  "features": [{"name": "cat_{0..2}", "ids": "hex", "missing": "row0"},
               {"name": "cat_9", "ids": "hex", "missing": "row0"}],
  "labels": ["label"] SHUFFLE})";

// The small run with these data.
TrainConfig ConfigWith(const std::string& data) {
  std::string text = ToJson(testing::SmallConfig());
  const size_t begin = text.find("\"data\":"), end = text.find(",\"train\":");
  text.replace(begin, end - begin, "\"data\": " + data);
  return ParseTrainConfig(text, "own.json");
}

std::string Shuffled(std::string schema, bool shuffled) {
  const std::string keys = R"(, "shuffle": {"seed": 5, "window_rows": 128})";
  return schema.replace(schema.find(" SHUFFLE"), 8, shuffled ? keys : "");
}

TrainConfig ByFormat(bool shuffled) {
  return ConfigWith(Shuffled(R"({"format": "criteo" SHUFFLE})", shuffled));
}
TrainConfig BySchema(bool shuffled) { return ConfigWith(Shuffled(kCriteoSchema, shuffled)); }

TEST(OwnData, CriteosSchemaGivesTheTensorsOfTheFormat) {
  const std::string path = Criteo();
  for (const bool shuffled : {false, true})
    for (const int64_t first : {0, 64, 200}) {
      const DataSelection selection{.files = {path}, .train_rows = RowRange{0, 900}};
      const auto a = DataSets(ByFormat(shuffled), selection).OpenTrain(first, 1);
      const auto b = DataSets(BySchema(shuffled), selection).OpenTrain(first, 1);
      Context ctx({.threads = 1});
      int64_t batches = 0;
      for (auto x = a->Next(); x; x = a->Next(), ++batches) {
        const auto y = b->Next();
        ASSERT_TRUE(y);
        EXPECT_TRUE(SameBits(x->dense, y->dense));
        EXPECT_TRUE(SameBits(x->labels, y->labels));
        EXPECT_EQ(x->features.keys(), y->features.keys());
        EXPECT_TRUE(SameBits(x->features.values(), y->features.values()));
        EXPECT_TRUE(SameBits(x->features.lengths(ctx), y->features.lengths(ctx)));
        EXPECT_EQ(std::pair(x->first_row, x->end_row), std::pair(y->first_row, y->end_row));
      }
      EXPECT_FALSE(b->Next());
      EXPECT_GT(batches, 10);
    }
}

std::map<std::string, Tensor> Trained(const TrainConfig& config, const DataSelection& selection,
                                      int64_t stop_at = 0) {
  const std::string path = TempPath("trained");
  const DataSets data(config, selection);
  {
    Context ctx({.threads = 1, .seed = config.seed});
    Trainer trainer(ctx, config);
    TrainingRunOptions options{.checkpoint = path};
    if (stop_at > 0) options.stop = [&] { return trainer.progress().step >= stop_at; };
    RunTraining(trainer, data, options);
  }
  Context ctx({.threads = 1, .seed = 999});
  if (stop_at > 0) {
    Trainer trainer(ctx, config);
    trainer.Load(ReadCheckpoint(path));
    RunTraining(trainer, data, {.checkpoint = path});
  }
  return ReadSafetensors(ctx, path).tensors;
}

void ExpectEqual(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) EXPECT_TRUE(SameBits(tensor, b.at(name))) << name;
}

TEST(OwnData, CriteosSchemaGivesTheCheckpointOfTheFormat) {
  const std::string path = Criteo();
  for (const bool shuffled : {false, true})
    ExpectEqual(Trained(ByFormat(shuffled), {.files = {path}}),
                Trained(BySchema(shuffled), {.files = {path}, .threads = 3}));
}

// Rows of bags with weights, as JSON; 1 in 50 is bad.
std::string Bags() {
  std::string text;
  for (int n = 0; n < 600; ++n) {
    if (n % 50 == 7) {
      text += "{\"y\": 1, \"a\": [\"x\"]}\n";
      continue;
    }
    text += Format(
        "{{\"y\": {}, \"x\": [{}, {}], \"w\": 0.5, \"cat_0\": {}, \"a\": [{}], \"s\": "
        "[{}], \"cat_9\": \"w{}\"}}\n",
        n * 7 % 3 / 2, n % 11, n % 5, n, n % 2 ? "1, 2, 3" : "", n % 2 ? "1, 0.5, 2" : "", n % 3);
  }
  return WriteFile("bags.jsonl", text);
}

constexpr char kBagSchema[] = R"({"format": "jsonl",
  "dense": [{"name": "x", "size": 2}],
  "features": [{"name": "cat_1", "from": "a", "weights": "s"},
               {"name": "cat_2", "from": "a", "max_length": 1},
               {"name": "cat_9", "vocabulary": ["w1", "w2"]}],
  "labels": ["y"], "weight": "w" SHUFFLE})";

TrainConfig BagConfig(bool shuffled) {
  std::string text = ToJson(testing::SmallConfig());
  text.replace(text.find("\"dense_in\":13"), 13, "\"dense_in\":2,\"weighted\":true");
  const size_t begin = text.find("\"data\":"), end = text.find(",\"train\":");
  text.replace(begin, end - begin, "\"data\": " + Shuffled(kBagSchema, shuffled));
  return ParseTrainConfig(text, "bags.json");
}

TEST(OwnData, BagsOfLinesGoOnWhereTheyStopped) {
  for (const bool shuffled : {false, true}) {
    const TrainConfig config = BagConfig(shuffled);
    EXPECT_EQ(ToJson(ParseTrainConfig(ToJson(config), "again.json")), ToJson(config));
    const DataSelection selection{.files = {Bags()}, .skip_bad_lines = true, .threads = 2};
    ExpectEqual(Trained(config, selection), Trained(config, selection, 13));
  }
}

// ---- lines that are left out

TEST(OwnData, LinesLeftOutAreCountedOnceByARunAndTheOneThatGoesOn) {
  TrainConfig config = BagConfig(false);
  config.epochs = 1;
  const DataSets data(config, {.files = {Bags()}, .skip_bad_lines = true});
  const std::string path = TempPath("left_out");
  const auto run = [&](PipelineKind kind, int64_t stop_at, bool goes_on) {
    Context ctx({.threads = 1});
    Trainer trainer(ctx, config);
    if (goes_on) trainer.Load(ReadCheckpoint(path));
    TrainingRunOptions options{.checkpoint = path, .pipeline = kind};
    if (stop_at > 0) options.stop = [&, stop_at] { return trainer.progress().step >= stop_at; };
    return RunTraining(trainer, data, options);
  };
  const BadLineCounts all = {{"expected 1 weight, one for each of a", 12}};
  EXPECT_EQ(run(PipelineKind::kNone, 0, false).skipped_by_reason, all);
  for (const PipelineKind kind : {PipelineKind::kNone, PipelineKind::kPrefetch})
    for (const int64_t stop_at : {1, 4, 8}) {
      const TrainingRunReport begin = run(kind, stop_at, false), rest = run(kind, 0, true);
      EXPECT_GT(rest.rows, 0);
      EXPECT_EQ(begin.skipped_rows + rest.skipped_rows, 12) << stop_at;
      BadLineCounts reasons = begin.skipped_by_reason;
      for (const auto& [reason, count] : rest.skipped_by_reason) reasons[reason] += count;
      EXPECT_EQ(reasons, all) << stop_at;
    }
}

TEST(OwnData, LabelsThatATaskDoesNotTakeAreBadLines) {
  const TrainConfig config = ParseTrainConfig(R"({
    "tables": [{"name": "t", "rows": 9, "dim": 4, "features": ["a", "b"]}],
    "model": {"type": "dlrm", "dense_in": 0, "over_arch": [4, 2], "tasks": [
      {"label": "y"}, {"label": "z", "where": "y"}]},
    "optimizer": {"sparse": {"name": "sgd", "lr": 0.1}, "dense": {"name": "sgd", "lr": 0.1}},
    "data": {"format": "csv", "features": [{"name": "a"}, {"name": "b", "from": "a"}],
      "labels": ["y", {"name": "z", "missing": "skip"}]},
    "train": {"batch_size": 2}})",
                                              "c");
  const auto run = [&](const std::string& text, bool skip) {
    const std::string path = WriteFile("labels.csv", text);
    const DataSets data(config, {.files = {path}, .skip_bad_lines = skip});
    Context ctx({.threads = 1});
    Trainer trainer(ctx, config);
    return RunTraining(trainer, data, {});
  };
  const std::string good = "a,y,z\n1,1,0\n2,0,7\n3,0,\n", bad = good + "4,1,2\n5,1,1\n";
  EXPECT_EQ(run(good, false).rows, 3);  // z of the second row counts for no task
  const std::string error = ErrorOf([&] { run(bad, false); });
  EXPECT_NE(error.find("labels.csv:5: column 3 (z): expected a label from 0 to 1, as task 'z' "
                       "learns by bce"),
            std::string::npos)
      << error;
  const TrainingRunReport skipped = run(bad, true);
  EXPECT_EQ(skipped.rows, 4);
  EXPECT_EQ(skipped.skipped_rows, 1);
}

// ---- parsed once

// The bags in a folder.
std::string Parsed() {
  const TrainConfig config = BagConfig(false);
  const std::string path = TempPath("parsed");
  ParseRows({.inputs = {Bags()},
             .output = path,
             .schema = *config.data.schema,
             .features = Features(config),
             .skip_bad_lines = true,
             .shard_rows = 250});
  return path;
}

TEST(OwnData, ParsedRowsGiveTheCheckpointOfTheText) {
  ExpectEqual(Trained(BagConfig(false), {.files = {Parsed()}}),
              Trained(BagConfig(false), {.files = {Bags()}, .skip_bad_lines = true}));
}

TEST(OwnData, ParsedRowsGoOnWhereTheyStopped) {
  for (const bool shuffled : {false, true}) {
    const DataSelection selection{.files = {Parsed()}, .train_rows = RowRange{0, 500}};
    ExpectEqual(Trained(BagConfig(shuffled), selection),
                Trained(BagConfig(shuffled), selection, 11));
  }
}

TEST(OwnData, RanksReadTheirPartsOfParsedRows) {
  Context ctx({.threads = 1});
  for (const bool shuffled : {false, true}) {
    const DataSets data(BagConfig(shuffled), {.files = {Parsed()}});
    const auto whole = data.OpenTrain(64, 1);
    std::vector<std::unique_ptr<DataSource>> parts;
    for (int rank = 0; rank < 3; ++rank) parts.push_back(data.OpenTrain(64, 1, rank, 3));
    while (const auto batch = whole->Next()) {
      int64_t begin = 0;
      for (const auto& source : parts) {
        const auto part = source->Next();
        ASSERT_TRUE(part);
        testing::ExpectSameBatch(ctx, *part, RowsOfBatch(ctx, *batch, begin, begin + part->size()));
        EXPECT_EQ(part->end_row, batch->end_row);
        begin += part->size();
      }
      EXPECT_EQ(begin, batch->size());
    }
  }
}

TEST(OwnData, ParsedRowsAreHeldAgainstTheConfiguration) {
  const std::string folder = Parsed();
  TrainConfig config = BagConfig(false);
  DataSchema schema = *config.data.schema;
  schema.features[1].max_length = 2;
  config.data.schema = std::make_shared<const DataSchema>(schema);
  EXPECT_EQ(ErrorOf([&] { DataSets(config, {.files = {folder}}); }),
            folder +
                ": feature 'cat_2': max_length: expected 1, by which these rows were written, "
                "got 2; to change it, preprocess the text again");
  EXPECT_EQ(ErrorOf([&] {
              DataSets(BagConfig(false), {.files = {folder, Bags()}});
            }),
            folder + " is a folder of rows, but " + Bags() + " is none: give data of one layout");
  EXPECT_NE(ErrorOf([&] {
              DataSets(BagConfig(false), {.files = {folder}, .eval_files = {folder}});
            }).find("its rows are those of"),
            std::string::npos);
}

std::string ErrorIn(const std::string& schema) {
  return ErrorOf([&] { ConfigWith(schema); });
}

std::string With(std::string text, const std::string& from, const std::string& to) {
  return Shuffled(text.replace(text.find(from), from.size(), to), false);
}

TEST(OwnData, TheSchemaIsHeldAgainstTablesAndModel) {
  EXPECT_EQ(ErrorIn(With(kCriteoSchema, "\"cat_9\", \"ids\": \"hex\"",
                         R"("cat_9", "vocabulary": ["F", "M"])")),
            "own.json: feature 'cat_9': its vocabulary needs 4 rows, table 'c' has 3");
  EXPECT_EQ(ErrorIn(With(kCriteoSchema, "\"cat_9\", \"ids\": \"hex\", \"missing\": \"row0\"",
                         R"("cat_9", "boundaries": [1, 2, 3])")),
            "own.json: feature 'cat_9': its boundaries need 4 rows, table 'c' has 3");
  EXPECT_EQ(ErrorIn(With(kCriteoSchema, "\"cat_9\"", "\"cat_11\"")),
            "own.json: data.features: feature 'cat_11' is read by no table");
  EXPECT_EQ(ErrorIn(With(kCriteoSchema, "int_{0..12}\", \"tr", "int_{0..11}\", \"tr")),
            "own.json: model.dense_in: expected 12, the numbers of data.dense, got 13");
  EXPECT_EQ(ErrorIn(With(kCriteoSchema, "\"cat_9\"", "\"cat_9\", \"weight_after\": \":\"")),
            "own.json: data.features: feature 'cat_9' has weights, but the model takes none: "
            "expected \"weighted\": true in model");
  EXPECT_EQ(ErrorIn(With(kCriteoSchema, "\"labels\": [\"label\"]", "\"labels\": []")),
            "own.json: data.labels: the model's loss needs a label, got none");
  EXPECT_EQ(ErrorIn(With(kCriteoSchema, "\"labels\": [\"label\"]", "\"lable\": []")),
            "own.json: data.lable: unknown key (did you mean 'labels'?); known here: format, "
            "shuffle, split, columns, delimiter, null, dense, features, labels, weight, time");
}

TEST(OwnData, FirstRowsAreReadBeforeAnythingStarts) {
  const TrainConfig config = BySchema(false);
  const auto error = [&](const DataSelection& selection) {
    return ErrorOf([&] { DataSets(config, selection); });
  };
  const std::string bad = WriteFile("bad.tsv", "1\t2\n");
  EXPECT_EQ(error({.files = {bad}}), bad + ":1: expected 40 columns, got 2");
  EXPECT_EQ(error({.files = {bad}, .skip_bad_lines = true}), "");
  const std::string bad_first = WriteFile("bad_first.tsv", "1\t2\n" + testing::NumberedLines(0, 9));
  EXPECT_EQ(error({.files = {bad_first}, .train_rows = RowRange{5, 10}}), "");
  EXPECT_EQ(
      error({.files = {bad_first}, .train_rows = RowRange{5, 10}, .eval_rows = RowRange{0, 2}}),
      bad_first + ":1: expected 40 columns, got 2");
  EXPECT_EQ(error({}), "no data: give --data FILE with tsv rows");
  EXPECT_EQ(error({.files = {TempPath("none*.tsv")}}),
            TempPath("none*.tsv") + ": expected a file, or a pattern that files match, found none");
}

// A bad row among the first is an error where it is read, to train on or for evaluation.
TEST(OwnData, FirstRowsThatNobodyReadsMayBeBad) {
  const auto error = [&](DataSelection selection) {
    return ErrorOf([&] { DataSets(BySchema(false), std::move(selection)); });
  };
  const std::string good = WriteFile("good.tsv", testing::NumberedLines(0, 60)),
                    bad = WriteFile("bad_later.tsv", testing::NumberedLines(0, 40) + "1\t2\n" +
                                                         testing::NumberedLines(41, 60)),
                    says = bad + ":41: expected 40 columns, got 2";
  EXPECT_EQ(error({.files = {bad}, .train_rows = RowRange{0, 40}}), "");
  EXPECT_EQ(error({.files = {bad}, .train_rows = RowRange{5, 41}}), says);
  EXPECT_EQ(error({.files = {bad}, .train_rows = RowRange{0, 9}, .eval_rows = RowRange{40}}), says);
  EXPECT_EQ(error({.files = {bad}, .train_rows = RowRange{0, 9}, .eval_rows = RowRange{41}}), "");
  EXPECT_EQ(error({.files = {good},
                   .eval_files = {bad},
                   .train_rows = RowRange{0, 9},
                   .eval_rows = RowRange{41}}),
            "");
  EXPECT_EQ(error({.files = {good}, .eval_files = {bad}, .train_rows = RowRange{50, 60}}), says);
}

TEST(OwnData, HeadingsOfAllFilesAreReadBeforeAnythingStarts) {
  const TrainConfig config = ConfigWith(R"({"format": "csv", "dense": ["int_{0..12}"],
    "features": [{"name": "cat_{0..2}", "missing": "row0"}, {"name": "cat_9", "missing": "row0"}],
    "labels": ["label"]})");
  const auto file = [](const std::string& name, const std::string& label) {
    std::string heading = label;
    for (int i = 0; i < 13; ++i) heading += Format(",int_{}", i);
    return WriteFile(name, heading + ",cat_0,cat_1,cat_2,cat_9\n1,,,,,,,,,,,,,,,,,\n");
  };
  const std::string good = file("good.csv", "label"), other = file("other.csv", "lable"),
                    third =
                        WriteFile("third.csv", testing::ReadFile(good) + "0,,,,,,,,,,,,,,,,,\n"),
                    empty = WriteFile("empty.csv", "");
  const auto error = [&](const DataSelection& selection) {
    return ErrorOf([&] { DataSets(config, selection); });
  };
  EXPECT_EQ(error({.files = {good, third}}), "");
  EXPECT_NE(error({.files = {good, other}}).find(other + ":1: there is no column 'label'"),
            std::string::npos);
  EXPECT_EQ(error({.files = {good, empty}}), empty + ": expected a heading, got an empty file");
  EXPECT_EQ(error({.files = {good}, .eval_files = {third, empty}}),
            empty + ": expected a heading, got an empty file");
}

// Who opens a named pipe and closes it again ends its writer, and loses what it has written.
TEST(OwnData, ANamedPipeIsNotOpenedBeforeItsRowsAreRead) {
  for (const bool by_schema : {false, true}) {
    const std::string pipe = TempPath(Format("pipe_{}", by_schema));
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const std::jthread writer([&] { std::ofstream(pipe) << testing::NumberedLines(0, 3000); });
    TrainConfig config = by_schema ? BySchema(false) : ByFormat(false);
    config.epochs = 1;
    const DataSets data(config, {.files = {pipe}});
    const auto source = data.OpenTrain(0);
    int64_t rows = 0;
    while (const auto batch = source->Next()) rows += batch->size();
    EXPECT_EQ(rows, 3000);
  }
}

TEST(OwnData, APatternStandsForItsFiles) {
  const std::string text = testing::NumberedLines(0, 30);
  std::filesystem::create_directories(TempPath("days"));
  for (const char* name : {"days/2.tsv", "days/1.tsv"}) WriteFile(name, text);
  const DataSets data(BySchema(false), {.files = {TempPath("days/[12].tsv")}});
  EXPECT_EQ(data.OpenTrain(0)->Next()->size(), 60);
}

}  // namespace
}  // namespace tessera
