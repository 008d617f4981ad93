#include "serve/model_delta.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "runtime/files/files.h"
#include "serve/export/delta_writer.h"
#include "serve/request_queue.h"
#include "tests/serve/testing/same_tables.h"
#include "tests/serve/testing/small_model.h"

namespace tessera::serve {
namespace {

namespace fs = std::filesystem;
using tessera::testing::ChangedCheckpoint;
using tessera::testing::ErrorOf;
using tessera::testing::ExpectSameTables;
using tessera::testing::ExportedRun;
using tessera::testing::MakeSmallModel;
using tessera::testing::OneExample;
using tessera::testing::SmallModel;
using tessera::testing::TempPath;
using tessera::testing::WriteSmallModel;

// The small model's checkpoint with numbers that depend on v: one in all rows of all tables,
// another one in all weights and biases of the dense part.
Checkpoint Numbered(const SmallModel& small, int64_t v) {
  const auto step = static_cast<double>(v);
  Context ctx({.threads = 1});
  return ChangedCheckpoint(small.checkpoint, "numbers.safetensors", [&](const auto& tensors) {
    for (const auto& [name, tensor] : tensors)
      if (!IsRunState(name))
        tensor.Fill(
            ctx, name.find("embedding_bags.") != name.npos ? 0.5 + step / 128 : 0.02 + step / 4096);
  });
}

// Writes the model into a new directory.
std::string FreshModel(const SmallModel& small, const std::string& name,
                       const WriteModelOptions& options = {}) {
  fs::remove_all(TempPath(name));
  return WriteSmallModel(small, name, options);
}

// Expects the same tables and scores.
void ExpectSame(Predictor& deltas, Predictor& fresh, const PredictRequest& request) {
  ExpectSameTables(*deltas.model(), *fresh.model());
  EXPECT_EQ(deltas.Predict(request), fresh.Predict(request));
}

std::vector<float> ScoresOf(const ServedModel& model, const PredictRequest& request) {
  Context ctx({.threads = 1});
  const PredictRequest* const one = &request;
  return model.Predict(ctx, std::span(&one, 1));
}

// An example of the small model.
PredictRequest Example() { return OneExample({{1}, {2}, {3}, {0}}); }

struct Answer {
  int64_t version;
  float score;
};

// Asks until `done`; `seen` gets the newest version that an answer came from.
std::vector<Answer> Ask(RequestQueue& queue, const std::atomic<bool>& done,
                        std::atomic<int64_t>& seen) {
  std::vector<Answer> answers;
  while (!done) {
    const ScoredRequest scored = queue.Submit(Example()).get();
    answers.push_back({scored.model_version, scored.scores[0]});
    int64_t newest = seen;
    while (newest < scored.model_version &&
           !seen.compare_exchange_weak(newest, scored.model_version)) {
    }
    seen.notify_all();
  }
  return answers;
}

// Every version's tables and dense part depend on its number: an answer that mixes two versions
// equals neither's. (Each request is a batch of its own: others round otherwise.)
TEST(ModelDelta, EveryAnswerUnderLoadIsOfOneVersion) {
  constexpr int64_t kVersions = 101;
  const SmallModel small = MakeSmallModel("load.safetensors");
  const WriteModelOptions options{.table_codecs = {{"a", {RowType::kInt8}}}};
  const std::string served = TempPath("load"), made = TempPath("load_made");
  Context ctx({.threads = 1});
  fs::remove_all(served);
  WriteModel(ctx, Numbered(small, 1), {}, served, options);
  fs::remove_all(made);
  fs::copy(served, made);
  ModelChain chain(made);
  Predictor predictor(served);
  std::atomic<bool> done = false;
  std::atomic<int64_t> seen = 0;
  std::vector<std::vector<Answer>> answers(3);
  std::vector<float> expected = {0, predictor.Predict(Example())[0]};  // of each version
  {
    RequestQueue queue(predictor,
                       {.max_batch = 1, .deadline = std::chrono::minutes(10), .workers = 2});
    std::vector<std::thread> clients;
    for (std::vector<Answer>& own : answers)
      clients.emplace_back([&] { own = Ask(queue, done, seen); });
    for (int64_t v = 2; v <= kVersions; ++v) {
      const WrittenDelta delta = WriteDelta(ctx, Numbered(small, v), {}, chain);
      EXPECT_EQ(delta.version, v);
      expected.push_back(ScoresOf(*chain.model(), Example())[0]);
      fs::rename(delta.path, PathIn(served, DeltaFileName(v)));
      EXPECT_EQ(predictor.TakeDeltas(), 1);
      for (int64_t newest = seen; newest < v; newest = seen) seen.wait(newest);
    }
    done = true;
    for (std::thread& client : clients) client.join();
  }
  EXPECT_EQ(std::set<float>(expected.begin(), expected.end()).size(), expected.size());
  int64_t wrong = 0;
  for (const std::vector<Answer>& own : answers)
    for (const Answer& answer : own)
      wrong += answer.score != expected[static_cast<size_t>(answer.version)] ? 1 : 0;
  EXPECT_EQ(wrong, 0);
  WriteModel(ctx, Numbered(small, kVersions), {}, TempPath("load_fresh"), options);
  Predictor fresh(TempPath("load_fresh"));
  ExpectSame(predictor, fresh, small.request);
  EXPECT_EQ(predictor.delta_counts().taken, kVersions - 1);
  // A predictor that begins now finds all deltas; the next export replaces them.
  Predictor begun(served);
  EXPECT_EQ(begun.model()->spec().version, kVersions);
  ExpectSame(begun, fresh, small.request);
  WriteModel(ctx, Numbered(small, 1), {}, served, options);
  EXPECT_FALSE(fs::exists(PathIn(served, DeltaFileName(kVersions))));
  EXPECT_EQ(Predictor(served).model()->spec().version, kVersions + 1);
}

TEST(ModelDelta, DeltasOfATrainingAreAnExportOfItsEnd) {
  ExportedRun run(tessera::testing::SmallConfig(), "goes_on.safetensors");
  const std::string directory = TempPath("goes_on");
  const WriteModelOptions options{.codec = {RowType::kInt4},
                                  .table_codecs = {{"a", {RowType::kF32}}},
                                  .default_row = DefaultRow::kMean,
                                  .dense_type = DType::kF16,
                                  .quantize = {.encode = {.search = true}}};
  fs::remove_all(directory);
  WriteModel(run.ctx(), run.Save(), {}, directory, options);
  Predictor predictor(directory);
  for (int64_t version = 2; version <= 4; ++version) {
    run.Step();
    const Checkpoint checkpoint = run.Save();
    ModelChain chain(directory);
    const WrittenDelta delta = WriteDelta(run.ctx(), checkpoint, {}, chain);
    EXPECT_GT(delta.tables[0].changed, 0);
    EXPECT_EQ(delta.tables[0].added, 0);
    EXPECT_EQ(predictor.TakeDeltas(), 1);
    EXPECT_EQ(predictor.model()->spec().version, version);
    WriteModel(run.ctx(), checkpoint, {}, TempPath("goes_on_fresh"), options);
    Predictor fresh(TempPath("goes_on_fresh"));
    ExpectSame(predictor, fresh, run.request());
  }
  // Counters go on from version to version: one id was asked for each example, once in each
  // version.
  EXPECT_EQ(predictor.model()->counter(0).hits, 3 * run.request().size());
}

TEST(ModelDelta, KeepsNoFileOpen) {
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const SmallModel small = MakeSmallModel("open.safetensors");
  const std::string directory = FreshModel(small, "open");
  Context ctx({.threads = 1});
  ModelChain chain(directory);
  Predictor predictor(directory);
  const auto before = open_files();
  for (int64_t v = 2; v <= 4; ++v) WriteDelta(ctx, Numbered(small, v), {}, chain);
  EXPECT_EQ(predictor.TakeDeltas(), 3);
  EXPECT_EQ(open_files(), before);
}

TEST(ModelDelta, PrunedTablesKeepTheRowsThatTheyHave) {
  const SmallModel small = MakeSmallModel("pruned_delta.safetensors");
  const std::string directory =
      FreshModel(small, "pruned_delta", {.prune = {.share = 0.4, .remap = RemapKind::kHash}});
  Predictor predictor(directory);
  const auto before = predictor.model();
  Context ctx({.threads = 1});
  ModelChain chain(directory);
  WriteDelta(ctx, Numbered(small, 7), {}, chain);
  EXPECT_EQ(predictor.TakeDeltas(), 1);
  EXPECT_EQ(predictor.model()->tables().Rows(0).dim(0), 36);
  const Tensor rows = predictor.model()->tables().Rows(0).Reinterpret(0, {36, 4}, DType::kF32);
  for (const float x : rows.ToVector<float>()) EXPECT_EQ(x, 0.5f + 7.0f / 128);
  EXPECT_EQ(predictor.model()->spec().tables[0].ids, before->spec().tables[0].ids);
}

TEST(ModelDelta, IsNotWrittenWhereKeptRowsAreInAnotherOrder) {
  const SmallModel small = MakeSmallModel("turned.safetensors");
  const std::string directory = FreshModel(small, "turned", {.prune = {.share = 0.5}});
  const std::string path = PathIn(directory, "weights-1.safetensors");
  Context ctx({.threads = 1});
  const Safetensors content = ReadSafetensors(ctx, path);
  for (int32_t& row : content.tensors.at("remap.a").span<int32_t>())
    if (row >= 0) row = 29 - row;
  testing::RewriteModelFile(ctx, path, content);
  ModelChain chain(directory);
  EXPECT_EQ(ErrorOf([&] { WriteDelta(ctx, Numbered(small, 2), {}, chain); }),
            "table a: expected its rows in the order of their ids");
  EXPECT_FALSE(fs::exists(PathIn(directory, DeltaFileName(2))));
}

// A caller that holds an old model keeps it, however many versions come.
TEST(ModelDelta, AModelThatIsHeldStaysWhatItIs) {
  const SmallModel small = MakeSmallModel("held.safetensors");
  const std::string directory = FreshModel(small, "held");
  Predictor predictor(directory);
  const auto held = predictor.model();
  Context ctx({.threads = 1});
  ModelChain chain(directory);
  for (int64_t v = 2; v <= 4; ++v) {
    WriteDelta(ctx, Numbered(small, v), {}, chain);
    EXPECT_EQ(predictor.TakeDeltas(), 1);
  }
  EXPECT_EQ(ScoresOf(*held, small.request), small.scores);
  EXPECT_NE(predictor.Predict(small.request), small.scores);
}

// The copy that nobody reads is brought up to date from deltas that were checked long before.
TEST(ModelDelta, ADeltaThatWasCutSinceIsNeverApplied) {
  const SmallModel small = MakeSmallModel("cut.safetensors");
  const std::string directory = FreshModel(small, "cut");
  Predictor predictor(directory);
  Context ctx({.threads = 1});
  ModelChain writer(directory);
  WriteDelta(ctx, Numbered(small, 2), {}, writer);
  EXPECT_EQ(predictor.TakeDeltas(), 1);
  const std::vector<float> scores = predictor.Predict(small.request);
  WriteDelta(ctx, Numbered(small, 3), {}, writer);
  fs::resize_file(PathIn(directory, DeltaFileName(2)), 0);
  EXPECT_NE(ErrorOf([&] { predictor.TakeDeltas(); }).find("delta-2.safetensors: it was cut"),
            std::string::npos);
  EXPECT_EQ(predictor.model()->spec().version, 2);
  EXPECT_EQ(predictor.Predict(small.request), scores);
}

// No row is read for ids that a map does not know, so the map's answers themselves must be checked.
TEST(ModelDelta, AMapOfIdsThatWasCutIsNeverBelieved) {
  const SmallModel small = MakeSmallModel("cut_map.safetensors");
  const std::string directory =
      FreshModel(small, "cut_map", {.prune = {.share = 0.4, .remap = RemapKind::kHash}});
  Predictor predictor(directory);
  fs::resize_file(PathIn(directory, "weights-1.safetensors"), 0);
  EXPECT_THROW(predictor.Predict(OneExample({{1}, {2}, {}, {1}})), BrokenModel);
}

// The rest of the page that a file is cut in reads as zeros.
TEST(ModelDelta, RowsOfAFileThatWasCutInsideAPageAreNeverBelieved) {
  const SmallModel small = MakeSmallModel("cut_page.safetensors");
  const std::string directory = FreshModel(small, "cut_page");
  Predictor predictor(directory);
  EXPECT_EQ(predictor.Predict(small.request), small.scores);
  fs::resize_file(PathIn(directory, "weights-1.safetensors"), 100);
  EXPECT_THROW(predictor.Predict(small.request), BrokenModel);
}

class BadDelta : public ::testing::Test {
 protected:
  BadDelta()
      : small_(MakeSmallModel("bad_delta.safetensors")),
        directory_(FreshModel(small_, "bad_delta")),
        predictor_(directory_) {}

  // A delta for a directory with a model like this one's, except for `options` and numbers.
  std::string DeltaOfAnother(const WriteModelOptions& options, int64_t number) {
    const std::string other = TempPath("bad_delta_other");
    WriteModel(ctx_, Numbered(small_, number), {}, other, options);
    ModelChain chain(other);
    return WriteDelta(ctx_, Numbered(small_, number + 1), {}, chain).path;
  }
  void ExpectRefused(const std::string& what) {
    EXPECT_NE(ErrorOf([&] { predictor_.TakeDeltas(); }).find(what), std::string::npos)
        << ErrorOf([&] { predictor_.TakeDeltas(); });
    EXPECT_EQ(predictor_.model()->spec().version, 1);
    EXPECT_EQ(predictor_.Predict(small_.request), small_.scores);
  }

  Context ctx_{ContextOptions{.threads = 1}};
  const SmallModel small_;
  const std::string directory_;
  Predictor predictor_;
};

TEST_F(BadDelta, ChangesNothingAndIsNamed) {
  ModelChain chain(directory_);
  const std::string path = WriteDelta(ctx_, Numbered(small_, 2), {}, chain).path;
  const std::string good = ReadTextFile(path);
  ReplaceTextFile(path, good.substr(0, good.size() - 1));
  ExpectRefused("delta-2.safetensors");
  std::string bad = good;
  bad[bad.size() - 40] = static_cast<char>(bad[bad.size() - 40] ^ 1);
  ReplaceTextFile(path, bad);
  ExpectRefused("its bytes do not have their crc32");
  ReplaceTextFile(path, good);
  EXPECT_EQ(predictor_.TakeDeltas(), 1);
  EXPECT_GT(predictor_.delta_counts().failed, 0);
}

TEST_F(BadDelta, FollowsAnotherModel) {
  const std::string path = PathIn(directory_, DeltaFileName(2));
  const auto take_over = [&](const std::string& delta) {
    fs::remove(path);
    fs::rename(delta, path);
    fs::remove_all(TempPath("bad_delta_other"));
  };
  take_over(DeltaOfAnother({}, 5));
  ExpectRefused("it follows another version 1");
  take_over(DeltaOfAnother({.table_codecs = {{"b", {RowType::kInt8}}}}, 5));
  ExpectRefused("table b: expected codec f32");
  take_over(DeltaOfAnother({.prune = {.share = 0.5}}, 5));
  ExpectRefused("expected rows 60");
  ModelChain chain(FreshModel(small_, "bad_delta_third"));
  WriteDelta(ctx_, Numbered(small_, 2), {}, chain);
  take_over(WriteDelta(ctx_, Numbered(small_, 3), {}, chain).path);
  ExpectRefused("expected version 2, got 3");
  fs::copy_file(PathIn(directory_, "model.json"), path, fs::copy_options::overwrite_existing);
  ExpectRefused("delta-2.safetensors");
}

TEST_F(BadDelta, NamesRowsThatMakeNoSense) {
  ModelChain chain(directory_);
  const std::string path = WriteDelta(ctx_, Numbered(small_, 2), {}, chain).path;
  const std::string good = TempPath("good_delta.safetensors");
  fs::copy_file(path, good, fs::copy_options::overwrite_existing);
  const SafetensorsChecksum checksum = CheckpointChecksum();
  const auto change_number = [&](int64_t at, int64_t row) {
    Safetensors delta = ReadSafetensors(ctx_, good);
    delta.tensors.at("rows.a.numbers").data<int64_t>()[at] = row;
    delta.metadata.erase(checksum.key);
    WriteSafetensors(ctx_, path, delta, &checksum);
  };
  change_number(0, -1);
  ExpectRefused("table a: numbers of rows are expected to ascend from 0");
  change_number(5, 4);
  ExpectRefused("table a: numbers of rows are expected to ascend from 0");
  change_number(59, 60);
  ExpectRefused("table a: it names a row that the table does not have");
  change_number(59, 59);
  EXPECT_EQ(predictor_.TakeDeltas(), 1);
}

TEST_F(BadDelta, IsNotWrittenOfAnotherTraining) {
  ModelChain chain(directory_);
  TrainConfig config = tessera::testing::SmallConfig();
  config.tables[1].feature_names = {"cat_1"};
  EXPECT_NE(ErrorOf([&] {
              WriteDelta(ctx_, Numbered(small_, 2), config, chain);
            }).find("it is of another model than version 1"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(PathIn(directory_, DeltaFileName(2))));
}

}  // namespace
}  // namespace tessera::serve
