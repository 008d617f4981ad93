// Splits that are refused: beside other options, where a side would be empty, and as JSON.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/train/testing/split_data.h"
#include "train/data_sets.h"

namespace tessera {
namespace {

using testing::ConfigOf;
using testing::DataKind;
using testing::ErrorOf;
using testing::Kinds;
using testing::SplitsOf;
using testing::TempPath;
using testing::WriteFile;

TEST(SplitRefusals, RefusesWhatItCannotBeBeside) {
  const DataKind& json = Kinds()[2];
  const std::string random = SplitsOf(json)[0];
  EXPECT_EQ(ErrorOf([&] {
              DataSets(ConfigOf(json, random),
                       {.files = {json.files[0]}, .eval_files = {json.files[1]}});
            }),
            Format("data.split beside --eval {}: it takes the rows for evaluation of --data: leave "
                   "one of them out",
                   json.files[1]));
  const std::string pipe = TempPath("pipe");
  ::mkfifo(pipe.c_str(), 0600);
  EXPECT_NE(ErrorOf([&] {
              DataSets(ConfigOf(json, random), {.files = {pipe}});
            }).find("pipe: it can be read once, so rows for evaluation (data.split)"),
            std::string::npos);
  DataSelection once{.files = {pipe}};
  once.part = RowPart::kEval;
  EXPECT_NE(ErrorOf([&] {
              DataSets(RowInputsOf(ConfigOf(json, R"({"by": "time"})")), once);
            }).find("pipe: it can be read once, but the last rows by time"),
            std::string::npos);
}

TEST(SplitRefusals, RefusesAPartWithoutRowsOfATable) {
  const DataKind& ratings = Kinds().back();
  for (const auto& [at, which] :
       {std::pair{5000, "no rows for evaluation"}, std::pair{-1, "no rows to train on"}}) {
    const TrainConfig config = ConfigOf(ratings, Format(R"({{"by": "time", "at": {}}})", at));
    const std::string error = ErrorOf([&] { DataSets(config, {.files = ratings.files}); });
    EXPECT_NE(error.find(which), std::string::npos) << error;
    EXPECT_NE(error.find("of the 1000 rows of"), std::string::npos) << error;
  }
}

// Text is read ahead for it, so that no epoch is lost.
TEST(SplitRefusals, RefusesAPartWithoutRowsOfText) {
  const DataKind &criteo = Kinds()[0], &json = Kinds()[2], &csv = Kinds()[4];
  const auto error = [](const DataKind& kind, const std::string& split,
                        DataSelection selection = {}) {
    selection.files = kind.files;
    selection.unknown_items = selection.unknown_eval_items = std::make_shared<UnknownItems>();
    const std::string said = ErrorOf([&] { DataSets(ConfigOf(kind, split), selection); });
    EXPECT_EQ(selection.unknown_items->All().size(), 0u);  // rows that are read ahead do not count
    return said;
  };
  for (const DataKind* kind : {&json, &csv})
    for (const auto& [at, which] :
         {std::pair{5000, "for evaluation"}, std::pair{-1, "to train on"}})
      EXPECT_EQ(error(*kind, Format(R"({{"by": "time", "at": {}}})", at)),
                Format("data.split: by time, rows from {} on for evaluation: it leaves no rows {}, "
                       "of {}: expected at least one: change the split",
                       at, which, kind->files[0]));
  EXPECT_NE(error(criteo, R"({"by": "key", "feature": "cat_0", "fraction": 0.0001})")
                .find("it leaves no rows for evaluation, of " + criteo.files[0]),
            std::string::npos);
  for (const DataKind* kind : {&criteo, &json})
    EXPECT_NE(error(*kind, R"({"by": "random", "fraction": 0.01})", {.eval_rows = RowRange{0, 5}})
                  .find("it leaves no rows for evaluation, of " + kind->files[0] +
                        ", among --eval-rows 0:5: expected at least one: change the split or the "
                        "range"),
              std::string::npos);
  EXPECT_NE(error(json, R"({"by": "time", "fraction": 0.2})", {.train_rows = RowRange{115, 116}})
                .find("it leaves no rows to train on"),
            std::string::npos);  // its time is 805
  EXPECT_EQ(error(json, R"({"by": "time", "fraction": 0.2})"), "");
}

// Who reads one part alone needs no row of the other, and may find the part empty.
TEST(SplitRefusals, OnePartAloneMayBeAllOrNothing) {
  for (const DataKind* kind : {&Kinds()[2], &Kinds().back()}) {
    SCOPED_TRACE(kind->data);
    for (const auto& [at, whole] :
         {std::pair{5000, RowPart::kTrain}, std::pair{-1, RowPart::kEval}}) {
      const RowInputs inputs =
          RowInputsOf(ConfigOf(*kind, Format(R"({{"by": "time", "at": {}}})", at)));
      for (const RowPart part : {RowPart::kTrain, RowPart::kEval}) {
        DataSelection selection{.files = kind->files};
        selection.part = part;
        const DataSets data(inputs, selection);
        EXPECT_EQ(data.OpenInOrder(64)->Next().has_value(), part == whole) << ToString(part);
        EXPECT_FALSE(data.has_eval_rows());
      }
    }
  }
}

TEST(SplitRefusals, EitherPartAloneCanBeReadOfAPipe) {
  const DataKind& json = Kinds()[2];
  const std::string pipe = TempPath("pipe_of_part");
  ::mkfifo(pipe.c_str(), 0600);
  for (const RowPart part : {RowPart::kTrain, RowPart::kEval}) {
    DataSelection selection{.files = {pipe}};
    selection.part = part;
    EXPECT_EQ(ErrorOf([&] { DataSets(RowInputsOf(ConfigOf(json, SplitsOf(json)[0])), selection); }),
              "");
  }
}

TEST(SplitRefusals, RefusesTimesThatAreNotThere) {
  const DataKind& ratings = Kinds().back();
  std::string wide;
  for (int n = 0; n < 10; ++n) wide += Format("5\t{}\t{}\tF\t1\t10\t4\t1975\tDrama\n", n, n);
  const std::vector<std::string> files = {WriteFile("wide.tsv", wide)};
  for (const char* split : {R"({"by": "time", "at": 5})", R"({"by": "time"})"})
    EXPECT_EQ(ErrorOf([&] { DataSets(ConfigOf(ratings, split), {.files = files}); }),
              "data.split.by: time: these rows have no time");
}

TEST(SplitRefusals, ConfigurationsSayWhatIsWrong) {
  const DataKind &criteo = Kinds()[0], &json = Kinds()[2], &npz = Kinds()[5];
  const auto error = [](const DataKind& kind, const std::string& split) {
    return ErrorOf([&] { ConfigOf(kind, split); });
  };
  const auto expect = [&](const DataKind& kind, const std::string& split, const std::string& text) {
    const std::string got = error(kind, split);
    EXPECT_NE(got.find(text), std::string::npos) << got;
  };
  expect(criteo, R"({"by": "time"})",
         "data.split.by: time: rows of the format criteo have no time");
  expect(npz, R"({"by": "time"})", "rows of the format npz have no time");
  DataKind no_time = json;
  no_time.data.erase(no_time.data.find("\"time\""), 13);
  expect(no_time, R"({"by": "time"})", "have no time: expected its column in data.time");
  expect(json, R"({"by": "key", "feature": "who"})",
         "data.split.feature: no table reads the feature 'who'");
  expect(json, R"({"by": "key"})", "data.split.feature");
  for (const char* fraction : {"0", "1", "-0.5", "1.5"})
    expect(json, Format(R"({{"fraction": {}}})", fraction),
           "data.split.fraction: expected a fraction above 0 and below 1");
  const std::string once = error(json, R"({"by": "time", "fraction": 1.5})");
  EXPECT_NE(once.find("data.split.fraction: expected a fraction above 0 and below 1, got 1.5"),
            std::string::npos);
  EXPECT_EQ(once.find("problems"), std::string::npos) << once;
  expect(json, R"({"by": "time", "at": 5, "fraction": 0.1})",
         "data.split.fraction beside data.split.at: expected one of the two");
  expect(json, R"({"by": "time", "of_fraction": 0.1})",
         "data.split.of_fraction without data.split.at: expected both");
  expect(json, R"({"by": "time", "at": 5, "of_fraction": 1})",
         "data.split.of_fraction: expected a fraction above 0 and below 1");
  expect(json, R"({"by": "random", "of_fraction": 0.1})", "data.split.of_fraction: unknown key");
  expect(json, R"({"by": "random", "at": 5})", "data.split.at: unknown key");
  expect(json, R"({"by": "time", "seed": 5})", "data.split.seed: unknown key");
  expect(json, R"({"by": "user"})", "data.split.by");
  DataKind planted = criteo;
  planted.data = R"("format": "planted", "rows": 10)";
  expect(planted, "{}", "data.split: made-up rows have others for evaluation, of eval_rows");
}

}  // namespace
}  // namespace tessera
