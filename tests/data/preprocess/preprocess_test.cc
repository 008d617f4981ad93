#include "data/preprocess/preprocess.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>

#include "data/batch_source.h"
#include "data/files/criteo_stream.h"
#include "data/files/data_files.h"
#include "data/files/npy_rows.h"
#include "data/files/row_folder.h"
#include "data/synthetic/criteo_file_writer.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::TempPath;
using testing::WriteFile;

const std::vector<CategoricalFeature> kFeatures = {{"cat_3", 17}, {"cat_0", 1000}};

// Planted rows [first, first + rows).
std::string Clicks(const std::string& name, int64_t first, int64_t rows) {
  const std::string path = TempPath(name);
  WriteCriteoFile(path, ClickModel({.vocabulary = 60}), {first, first + rows});
  return path;
}

PreprocessOptions Options(std::vector<std::string> inputs, const std::string& output) {
  std::filesystem::remove_all(TempPath(output));
  return {.inputs = std::move(inputs), .output = TempPath(output)};
}

Batch AllRows(const std::vector<std::string>& paths,
              const std::vector<CategoricalFeature>& features = kFeatures) {
  Context ctx({.threads = 1});
  const StoredRows rows(MapStoredFiles(paths), features);
  std::vector<int64_t> numbers(static_cast<size_t>(rows.rows()));
  std::iota(numbers.begin(), numbers.end(), 0);
  return rows.Gather(ctx, numbers);
}

Batch AllText(const std::vector<std::string>& paths) {
  return *BatchSource(std::make_unique<CriteoStream>(CriteoFiles{paths}),
                      BatchBuilder(kFeatures, MissingIds::kRow0), 1 << 20)
              .Next();
}

void ExpectEqual(const Batch& a, const Batch& b) {
  EXPECT_EQ(a.dense.ToVector<float>(), b.dense.ToVector<float>());
  EXPECT_EQ(a.labels.ToVector<float>(), b.labels.ToVector<float>());
  EXPECT_EQ(a.features.values().ToVector<int32_t>(), b.features.values().ToVector<int32_t>());
}

TEST(Preprocess, RowsAreThoseThatTrainingMakesOfText) {
  const std::vector<std::string> inputs = {Clicks("a.tsv", 0, 130), Clicks("b.tsv.gz", 130, 70)};
  PreprocessOptions options = Options(inputs, "plain");
  options.shard_rows = 64;
  const PreprocessReport report = Preprocess(options);
  EXPECT_EQ(report.rows, 200);
  EXPECT_EQ(report.inputs[1].first_row, 130);
  EXPECT_EQ(ReadRowFolderIndex(options.output).shards.size(), 4u);
  EXPECT_FALSE(std::filesystem::exists(options.output + "/tessera-preprocess-scratch"));
  ExpectEqual(AllRows({options.output}), AllText(inputs));
}

TEST(Preprocess, NpyHoldsTheSame) {
  const std::vector<std::string> inputs = {Clicks("day_0.tsv", 0, 50), Clicks("day_1.tsv", 50, 30)};
  PreprocessOptions options = Options(inputs, "npy");
  options.to = PreprocessOutput::kNpy;
  Preprocess(options);
  ExpectEqual(AllRows({options.output + "/day_0", options.output + "/day_1"}), AllText(inputs));
  PreprocessOptions again =
      Options({options.output + "/day_0", options.output + "/day_1"}, "again");
  Preprocess(again);
  ExpectEqual(AllRows({again.output}), AllText(inputs));
}

TEST(Preprocess, ContiguousIdsOverAllInputs) {
  const std::string a = WriteFile("ids_a.tsv",
                                  testing::NumberedLines(0, 3) + testing::NumberedLines(1, 3)),
                    b = WriteFile("ids_b.tsv", testing::NumberedLines(2, 6));
  PreprocessOptions options = Options({a, b}, "contiguous");
  options.contiguous = true;
  options.frequency_threshold = 2;
  const PreprocessReport report = Preprocess(options);
  const auto ids = AllRows({options.output}, {{"cat_0", 100}}).features.values();
  EXPECT_EQ(ids.ToVector<int32_t>(), (std::vector<int32_t>{1, 2, 3, 2, 3, 3, 1, 1, 1}));
  EXPECT_EQ(report.features[0].distinct, 6);
  EXPECT_EQ(report.features[0].kept, 2);
  EXPECT_EQ(report.features[0].table_rows, 4);
  EXPECT_EQ(ReadRowFolderIndex(options.output).features[0].rows, 4);
}

TEST(Preprocess, HashesAndMissingValues) {
  const std::string path = WriteFile("hash.tsv", testing::NumberedLines(0, 12));
  PreprocessOptions options = Options({path}, "hash");
  options.hash_sizes = {5};
  Preprocess(options);
  EXPECT_EQ(AllRows({options.output}, {{"cat_0", 100}}).features.values().ToVector<int32_t>(),
            (std::vector<int32_t>{1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2}));
  options.missing = MissingValues::kZero;
  const PreprocessReport report = Preprocess(options);
  EXPECT_EQ(AllRows({options.output}, {{"cat_0", 100}}).features.values().ToVector<int32_t>(),
            (std::vector<int32_t>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1}));
  EXPECT_EQ(report.features[0].table_rows, 5);
}

TEST(Preprocess, NumbersAreTransformed) {
  const std::string path =
      WriteFile("dense.tsv", testing::NumberedLines(0, 4) + "1\t-2" + std::string(38, '\t') + "\n");
  const auto numbers = [&](const std::string& transform) {
    PreprocessOptions options = Options({path}, "dense");
    options.dense = ParseDenseTransform(transform);
    Preprocess(options);
    const Tensor dense = AllRows({options.output}, {{"cat_0", 100}}).dense;
    return std::vector<float>{dense.data<float>()[3 * 13], dense.data<float>()[4 * 13]};
  };
  EXPECT_EQ(numbers("log1p"), (std::vector<float>{std::log(4.0f), 0}));
  EXPECT_EQ(numbers("log+3"), (std::vector<float>{std::log(6.0f), 0}));
  EXPECT_EQ(numbers("log_from_min"), (std::vector<float>{std::log(7.0f), std::log(2.0f)}));
  EXPECT_EQ(numbers("as_is"), (std::vector<float>{3, -2}));
  EXPECT_EQ(ErrorOf([&] { numbers("log+2"); }), path + ":5: -2 has no log+2");
  EXPECT_EQ(ErrorOf([] { ParseDenseTransform("log+x"); }),
            "numbers 'log+x': expected log1p, log+C with an integer C, log_from_min or as_is");
  for (const char* name : {"log1p", "log+-7", "log_from_min", "as_is"})
    EXPECT_EQ(ToString(ParseDenseTransform(name)), name);
}

// The first dense number of each row, which tells rows apart.
std::vector<float> FirstNumbers(const std::vector<std::string>& paths) {
  const Batch rows = AllRows(paths, {{"cat_0", 100}});
  std::vector<float> numbers;
  for (int64_t b = 0; b < rows.size(); ++b) numbers.push_back(rows.dense.data<float>()[b * 13]);
  return numbers;
}

TEST(Preprocess, ShufflesAllButTheLastInput) {
  const std::vector<std::string> inputs = {WriteFile("s0.tsv", testing::NumberedLines(0, 50)),
                                           WriteFile("s1.tsv", testing::NumberedLines(50, 80)),
                                           WriteFile("s2.tsv", testing::NumberedLines(80, 100))};
  PreprocessOptions options = Options(inputs, "shuffled");
  options.dense = ParseDenseTransform("as_is");
  options.shuffle = options.keep_last = true;
  options.memory_bytes = 1 << 20;
  Preprocess(options);
  std::vector<float> numbers = FirstNumbers({options.output});
  ASSERT_EQ(numbers.size(), 100u);
  for (size_t i = 80; i < 100; ++i) EXPECT_EQ(numbers[i], static_cast<float>(i));
  EXPECT_TRUE(std::any_of(numbers.begin(), numbers.begin() + 50, [](float x) { return x >= 50; }));
  std::sort(numbers.begin(), numbers.end());
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(numbers[i], static_cast<float>(i));
  numbers = FirstNumbers({options.output});
  options.output = TempPath("shuffled_npy");
  options.to = PreprocessOutput::kNpy;
  Preprocess(options);
  EXPECT_EQ(FirstNumbers({options.output + "/s0", options.output + "/s1", options.output + "/s2"}),
            numbers);
  EXPECT_EQ(FirstNumbers({options.output + "/s1"}).size(), 30u);
  options.seed = 1;
  Preprocess(options);
  EXPECT_NE(FirstNumbers({options.output + "/s0"}),
            std::vector<float>(numbers.begin(), numbers.begin() + 50));
}

TEST(Preprocess, ProgressGoesForwardInEveryStep) {
  PreprocessOptions options = Options({Clicks("long.tsv", 0, 40000)}, "progress");
  options.contiguous = true;
  std::set<std::string> steps;
  double last = 0;
  Preprocess(options, [&](const PreprocessProgress& p) {
    if (steps.insert(p.step).second) last = 0;
    EXPECT_GE(p.fraction, last);
    EXPECT_LE(p.fraction, 1);
    last = p.fraction.value();
  });
  EXPECT_EQ(steps, (std::set<std::string>{"numbering ids", "reading", "writing"}));
}

TEST(Preprocess, BadInputIsAnErrorAndLeavesNoRows) {
  const std::string bad = WriteFile("bad.tsv", testing::NumberedLines(0, 3) + "x\n");
  PreprocessOptions options = Options({bad}, "none");
  EXPECT_EQ(ErrorOf([&] { Preprocess(options); }),
            bad + ":4: column 1 (label): expected a label, 0 or 1, got 'x'");
  EXPECT_FALSE(IsRowFolder(options.output));
  EXPECT_FALSE(std::filesystem::exists(options.output + "/tessera-preprocess-scratch"));
  options.skip_bad_lines = true;
  EXPECT_EQ(Preprocess(options).skipped_rows, 1);
  EXPECT_EQ(ErrorOf([&] { Preprocess(Options({"x.parquet"}, "none")); }).substr(0, 31),
            "x.parquet: Parquet is not read:");
  EXPECT_EQ(ErrorOf([&] { Preprocess(Options({WriteFile("empty.tsv", "")}, "none")); }),
            TempPath("empty.tsv") + ": there are no rows");
  options.hash_sizes = {1, 2};
  EXPECT_EQ(ErrorOf([&] { Preprocess(options); }),
            "hash sizes: expected one, or one for each of 26 columns, got 2");
  options = Options({bad, "folder/bad.tsv"}, "none");
  options.to = PreprocessOutput::kNpy;
  EXPECT_EQ(ErrorOf([&] { Preprocess(options); }),
            "two inputs are called 'bad', so that npy files of one would replace those of the "
            "other");
}

}  // namespace
}  // namespace tessera
