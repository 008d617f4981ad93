#include "train/verify/run_verifier.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "comm/local_communicator.h"
#include "tests/testing/error_of.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"
#include "tests/train/testing/small_run.h"
#include "train/data_sets.h"

namespace tessera {
namespace {

constexpr int64_t kSteps = 12;

TEST(LocatedSumTest, NamesThePlaceOfOneDifferenceAlone) {
  std::mt19937_64 random(1);
  LocatedSum sum;
  for (int i = 0; i < 100; ++i) sum.Add(random() % 1000, random());
  for (const uint64_t place : {uint64_t{0}, uint64_t{999}, uint64_t{1} << 50}) {
    LocatedSum one = sum, other = sum;
    const uint64_t hash = random(), changed = random();
    for (int times = 0; times < 3; ++times) one.Add(place, hash);
    for (int times = 0; times < 3; ++times) other.Add(place, changed);
    EXPECT_NE(one, other);
    EXPECT_EQ(one.PlaceOfDifference(other), place);
    EXPECT_EQ(LocatedSum::From(other.sums()).PlaceOfDifference(one), place);
    one.Add(7, hash);
    EXPECT_EQ(one.PlaceOfDifference(other), std::nullopt);
  }
}

std::vector<Batch> MakeBatches(const TrainConfig& config) {
  std::vector<Batch> batches;
  const std::unique_ptr<DataSource> source = DataSets(config, {}).OpenTrain(0);
  for (int64_t i = 0; i < kSteps; ++i) batches.push_back(*source->Next());
  return batches;
}

// Changes something before a step; returns the place that is expected to be named.
using Disturb = std::function<std::string(Trainer& trainer, Batch& batch)>;

struct Disturbed {
  std::string place, error;
};

// Trains on the batches with a record of every step at `path`; disturbed before step `at` + 1.
Disturbed Train(const TrainConfig& config, const std::vector<Batch>& batches,
                const std::string& path, int64_t at = -1, const Disturb& disturb = nullptr,
                std::optional<TrainingRanks> ranks = {}) {
  Context ctx({.threads = 2, .seed = config.seed});
  Trainer trainer(ctx, config, std::move(ranks));
  Disturbed disturbed;
  RunVerifier verifier(trainer, std::make_unique<RunRecord>(path, config, PipelineKind::kNone), 1);
  disturbed.error = testing::ErrorOf([&] {
    for (int64_t i = 0; i < kSteps; ++i) {
      Batch batch = batches[static_cast<size_t>(i)];
      if (i == at) disturbed.place = disturb(trainer, batch);
      trainer.Step(batch);
    }
    verifier.End();
  });
  return disturbed;
}

void FlipBit(void* data, int64_t byte, uint64_t bit) {
  static_cast<unsigned char*>(data)[byte] ^= static_cast<unsigned char>(1u << (bit % 8));
}

// Whether a batch names a row of table t, whose features SmallConfig lists.
bool Names(const Batch& batch, int64_t t, int64_t row) {
  Context host({.threads = 1});
  const std::vector<std::vector<std::string>> features = {{"cat_0"}, {"cat_1", "cat_2"}, {"cat_9"}};
  for (const std::string& feature : features[static_cast<size_t>(t)])
    for (const int64_t id :
         batch.features.At(host, feature).values().value().To(host, DType::kI64).span<int64_t>())
      if (id == row) return true;
  return false;
}

class RunVerifierTest : public ::testing::Test {
 protected:
  RunVerifierTest() : batches_(MakeBatches(config_)) {
    std::filesystem::remove(path_);
    EXPECT_EQ(Train(config_, batches_, path_).error, "");
  }

  const TrainConfig config_ = testing::SmallConfig();
  const std::vector<Batch> batches_;
  const std::string path_ = testing::TempPath("record.jsonl");
};

TEST_F(RunVerifierTest, EqualRunsAddNothing) {
  const std::string record = testing::ReadFile(path_);
  EXPECT_EQ(Train(config_, batches_, path_).error, "");
  EXPECT_EQ(testing::ReadFile(path_), record);
}

// The schedule's place is a tensor that is made for the asking.
TEST_F(RunVerifierTest, EqualRunsWithASchedule) {
  TrainConfig config = config_;
  config.warmup = {{.policy = WarmupPolicy::kLinear, .max_iters = 4, .value = 0.1}};
  std::filesystem::remove(path_);
  for (int run = 0; run < 5; ++run) EXPECT_EQ(Train(config, batches_, path_).error, "");
}

TEST_F(RunVerifierTest, FlippedBitsOfTablesAreNamed) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 60; ++i) {
    const int64_t at = static_cast<int64_t>(random() % kSteps), t = i % 3;
    int64_t row = 0;
    const auto flip = [&](Trainer& trainer, Batch&) {
      const TableBatchedEmbedding& tables = trainer.model().embedding_bag_collection().tables();
      const int parts = tables.rows().num_parts(static_cast<int>(t));
      const NamedTensor part =
          tables.rows().part(static_cast<int>(t), static_cast<int>(random() % parts));
      const int64_t rows = part.tensor.dim(0), bytes = part.tensor.nbytes() / rows;
      row = static_cast<int64_t>(random()) & 0xffff;
      row %= rows;
      FlipBit(part.tensor.raw_data(), row * bytes + static_cast<int64_t>(random() % bytes),
              random());
      return Format("table {}, row {}, {} (", tables.table_name(static_cast<int>(t)), row,
                    part.name);
    };
    const auto [place, error] = Train(config_, batches_, path_, at, flip);
    int64_t step = at;
    while (step < kSteps && !Names(batches_[static_cast<size_t>(step)], t, row)) ++step;
    EXPECT_TRUE(error.find(place) != std::string::npos) << place << ": " << error;
    const std::string where =
        step == kSteps ? Format("state after step {} ", kSteps) : Format(": step {} ", step + 1);
    EXPECT_TRUE(error.find(where) != std::string::npos) << where << ": " << error;
  }
}

TEST_F(RunVerifierTest, FlippedBitsOfDenseTensorsAreNamed) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 30; ++i) {
    const int64_t at = 1 + static_cast<int64_t>(random() % (kSteps - 1));  // states are there
    const auto flip = [&](Trainer& trainer, Batch&) {
      std::vector<NamedTensor> tensors = trainer.RestOfState();
      for (const NamedParameter& p : trainer.model().Parameters())
        tensors.push_back({p.name, p.variable.value()});
      const NamedTensor& tensor = tensors[random() % tensors.size()];
      FlipBit(tensor.tensor.raw_data(),
              static_cast<int64_t>(random() % static_cast<uint64_t>(tensor.tensor.nbytes())),
              random());
      return tensor.name + ", elements 0 to ";
    };
    const auto [place, error] = Train(config_, batches_, path_, at, flip);
    EXPECT_TRUE(error.find(place) != std::string::npos) << place << ": " << error;
    EXPECT_TRUE(error.find(Format(": step {} ", at + 1)) != std::string::npos) << at << error;
  }
}

TEST_F(RunVerifierTest, FlippedBitsOfDataAreNamed) {
  std::mt19937_64 random(4);
  Context host({.threads = 1});
  for (int i = 0; i < 10; ++i) {
    const int64_t at = static_cast<int64_t>(random() % kSteps);
    const auto flip = [&](Trainer&, Batch& batch) {
      Tensor& tensor = i % 2 == 0 ? batch.dense : batch.labels;
      tensor = tensor.Clone(host);
      const int64_t example = static_cast<int64_t>(random() % 64), bytes = tensor.nbytes() / 64;
      FlipBit(tensor.raw_data(), example * bytes, 0);  // of a mantissa
      return Format("values than the record has: example {} of the batch (", example);
    };
    const auto [place, error] = Train(config_, batches_, path_, at, flip);
    EXPECT_TRUE(error.find(place) != std::string::npos) << place << ": " << error;
    EXPECT_TRUE(error.find(Format(": step {} ", at + 1)) != std::string::npos) << at << error;
  }
}

TEST_F(RunVerifierTest, OneRankHasTheBitsOfNone) {
  const auto error_of = [&](const std::string& plan, const WireCodecs& codecs) {
    std::string error;
    RunLocalRanks(1, [&](Communicator& comm) {
      const TrainingRanks ranks{&comm, testing::PlanFor(config_, 1, plan), codecs};
      error = testing::ErrorOf([&] { Train(config_, batches_, path_, -1, nullptr, ranks); });
      if (error.empty()) error = Train(config_, batches_, path_, -1, nullptr, ranks).error;
    });
    return error;
  };
  const std::string record = testing::ReadFile(path_);
  for (const char* plan : {"table_wise", "row_wise", "column_wise", "data_parallel"})
    EXPECT_EQ(error_of(plan, {}), "") << plan;
  EXPECT_EQ(testing::ReadFile(path_), record);
  EXPECT_EQ(error_of("row_wise", ParseWireCodecs("bf16")),
            "--verify beside --ranks 1 compares the bits of a training without ranks: not with "
            "--wire-codecs");
}

TEST_F(RunVerifierTest, ARunThatWasCutOffAddsWhatIsMissing) {
  const std::string record = testing::ReadFile(path_);
  const size_t half = record.size() / 2;
  testing::WriteFile("record.jsonl", record.substr(0, half));
  EXPECT_EQ(Train(config_, batches_, path_).error, "");
  EXPECT_EQ(testing::ReadFile(path_), record);
}

// Nothing says whether the record that it was is of this training.
TEST_F(RunVerifierTest, ARecordWithoutAWholeFirstLineIsRefusedAndKept) {
  const std::string record = testing::ReadFile(path_);
  const size_t line = record.find('\n');
  for (const size_t size : {size_t{1}, size_t{10}, size_t{20}, line / 2, line}) {
    testing::WriteFile("record.jsonl", record.substr(0, size));
    const std::string error = testing::ErrorOf([&] { Train(config_, batches_, path_); });
    EXPECT_TRUE(error.starts_with(path_ + ":1: ")) << size << error;
    const bool is_cut = error.find("one that is cut off: bring") != std::string::npos;
    EXPECT_EQ(is_cut, size >= 20) << size << error;
    EXPECT_EQ(testing::ReadFile(path_), record.substr(0, size));
  }
  testing::WriteFile("record.jsonl", "");
  EXPECT_EQ(Train(config_, batches_, path_).error, "");
  EXPECT_EQ(testing::ReadFile(path_), record);
}

TEST_F(RunVerifierTest, RefusesWhatItCannotCompare) {
  TrainConfig other = config_;
  other.seed = 4;
  const auto verify = [&](const TrainConfig& config) {
    return testing::ErrorOf([&] { Train(config, batches_, path_); });
  };
  EXPECT_EQ(verify(other), path_ +
                               ": the record is of another configuration: train.seed was 3, "
                               "is 4: train with what it was, or name another file");
  other = config_;
  other.epochs = 9;
  EXPECT_EQ(verify(other), "");
  testing::WriteFile("record.jsonl", "{\"auc\": 1}\n");
  EXPECT_TRUE(verify(config_).starts_with(path_ + ":1: it is no record of tessera train --verify"));
  other.tables[1].location = EmbeddingLocation::kManagedCaching;
  EXPECT_EQ(testing::ErrorOf([&] { CheckCanDigest(other, Device::Cpu(), 1); }),
            "--verify reads the rows of tables in this process's memory: not beside location "
            "MANAGED_CACHING of table b");
  EXPECT_EQ(testing::ErrorOf([&] { CheckCanDigest(config_, Device::Cpu(), 2); }),
            "--verify reads the rows of tables in this process's memory: not beside 2 ranks");
}

}  // namespace
}  // namespace tessera
