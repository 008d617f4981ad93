#include "train/verify/run_verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "comm/local_communicator.h"
#include "runtime/tensor.h"
#include "tests/testing/error_of.h"
#include "tests/train/testing/files.h"
#include "tests/train/testing/ranks_run.h"
#include "tests/train/testing/small_run.h"
#include "train/data_sets.h"

namespace tessera {
namespace {

constexpr int64_t kSteps = 12;

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
  const RunTerms terms = TermsOf(PipelineKind::kNone, trainer.ranks());
  RunVerifier verifier(trainer, std::make_unique<RunRecord>(path, config, terms, trainer.comm()),
                       1);
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
  for (const std::string& feature : features[static_cast<size_t>(t)]) {
    const Tensor ids = batch.features.At(host, feature).values().value().To(host, DType::kI64);
    if (std::ranges::count(ids.span<int64_t>(), row) > 0) return true;
  }
  return false;
}

// A plan by name; "columns" cuts all tables' columns unevenly.
ShardingPlan PlanOf(const TrainConfig& config, int ranks, const std::string& name) {
  if (name != "columns") return testing::PlanFor(config, ranks, name);
  std::map<std::string, TableSharder> sharders;
  for (const EmbeddingBagConfig& table : config.tables)
    sharders[table.name] = ColumnWiseSizes({1, 3});
  return MakeShardingPlan({ranks, ranks}, testing::ShapesOf(config), sharders);
}

class RunVerifierTest : public ::testing::Test {
 protected:
  RunVerifierTest() : batches_(MakeBatches(config_)) {
    std::filesystem::remove(path_);
    EXPECT_EQ(Train(config_, batches_, path_).error, "");
  }

  // Trains on ranks that are threads; the error and the place are those of any rank.
  Disturbed OnRanks(int count, const std::string& plan, int64_t at = -1,
                    const Disturb& disturb = nullptr, const WireCodecs& codecs = {}) const {
    const TrainConfig& config = count == 1 ? config_ : elementwise_;
    Disturbed disturbed;
    std::mutex mutex;
    RunLocalRanks(count, [&](Communicator& comm) {
      const TrainingRanks ranks{&comm, PlanOf(config, count, plan), codecs};
      Disturbed mine;
      const std::string refused =
          testing::ErrorOf([&] { mine = Train(config, batches_, path_, at, disturb, ranks); });
      if (!refused.empty()) mine.error = refused;
      const std::lock_guard lock(mutex);
      if (!mine.place.empty()) disturbed.place = mine.place;
      disturbed.error = mine.error;
    });
    return disturbed;
  }

  // The record without its first line.
  std::string Steps() const {
    const std::string record = testing::ReadFile(path_);
    return record.substr(record.find('\n') + 1);
  }

  static TrainConfig Elementwise() {
    TrainConfig config = testing::SmallConfig();
    for (EmbeddingBagConfig& table : config.tables) table.optimizer = Adagrad{.lr = 0.1f};
    return config;
  }

  const TrainConfig config_ = testing::SmallConfig(), elementwise_ = Elementwise();
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
  const std::string record = testing::ReadFile(path_);
  for (const char* plan : {"table_wise", "row_wise", "column_wise", "data_parallel"})
    EXPECT_EQ(OnRanks(1, plan).error, "") << plan;
  EXPECT_EQ(testing::ReadFile(path_), record);
  EXPECT_EQ(OnRanks(1, "row_wise", -1, nullptr, ParseWireCodecs("bf16")).error,
            path_ +
                ": the record is of --wire-codecs fp32, whose bits are not those of bf16: train "
                "with these codecs, or name another file");
}

// Rules whose states are cut like rows, and bags of one id: no plan changes a bit.
TEST_F(RunVerifierTest, RanksHaveOneRecordUnderAllPlans) {
  for (const int ranks : {2, 4}) {
    std::filesystem::remove(path_);
    EXPECT_EQ(OnRanks(ranks, "table_wise").error, "");
    const std::string record = Steps();
    for (const char* plan : {"row_wise", "columns", "data_parallel", "table_row_wise"}) {
      EXPECT_EQ(OnRanks(ranks, plan).error, "") << ranks << plan;
      EXPECT_EQ(Steps(), record) << ranks << plan;
      std::filesystem::remove(path_);
      EXPECT_EQ(OnRanks(ranks, plan).error, "") << ranks << plan;
      EXPECT_EQ(Steps(), record) << ranks << plan;
    }
  }
}

TEST_F(RunVerifierTest, RanksDigestTheBatchAndTheFirstRowsOfOneProcess) {
  const auto first = [&] {
    const std::string step = Steps().substr(0, Steps().find('\n'));
    return step.substr(step.find("\"batch\""), 58) + step.substr(step.find("\"rows\""), 57);
  };
  std::filesystem::remove(path_);
  EXPECT_EQ(Train(elementwise_, batches_, path_).error, "");
  const std::string of_one = first();
  for (const char* plan : {"row_wise", "columns"}) {
    std::filesystem::remove(path_);
    EXPECT_EQ(OnRanks(4, plan).error, "");
    EXPECT_EQ(first(), of_one) << plan;
  }
  EXPECT_EQ(testing::ErrorOf([&] { Train(elementwise_, batches_, path_); }),
            path_ +
                ": the record is of a training on 4 ranks, whose sums over a batch are in another "
                "order than those of one process: train on as many ranks, or name another file");
}

TEST_F(RunVerifierTest, FlippedBitsOfRanksAreNamed) {
  std::filesystem::remove(path_);
  EXPECT_EQ(OnRanks(2, "row_wise").error, "");
  std::mt19937_64 random(5);
  for (int i = 0; i < 20; ++i) {
    const int rank = i % 2;
    int64_t row = 0;
    const auto flip = [&](Trainer& trainer, Batch&) {
      if (trainer.comm()->rank() != rank) return std::string();
      const std::vector<HeldShard> shards = trainer.model().sharded()->tables().shards();
      const HeldShard& held = shards[random() % 2];
      const TableRows rows = held.tables->rows();
      const NamedTensor part =
          rows.part(held.index,
                    static_cast<int>(random() % static_cast<uint64_t>(rows.num_parts(held.index))));
      const int64_t here = static_cast<int64_t>(random() % 20);
      const int64_t bytes = part.tensor.nbytes() / part.tensor.dim(0);
      row = held.shard.row_offset + here;
      FlipBit(part.tensor.raw_data(), here * bytes + static_cast<int64_t>(random() % bytes),
              random());
      return Format("table {}, row {}, {} (of rank {}) (", held.table, row, part.name, rank);
    };
    const auto [place, error] = OnRanks(2, "row_wise", i % kSteps, flip);
    EXPECT_TRUE(error.find(place) != std::string::npos) << place << ": " << error;
    EXPECT_NE(place, "");
  }
}

// A copy is held against those of other ranks even where there is no record yet.
TEST_F(RunVerifierTest, FlippedBitsOfCopiesNameTheRank) {
  const auto flip_dense = [&](Trainer& trainer, Batch&) {
    if (trainer.comm()->rank() == 1)
      FlipBit(trainer.model().Parameters()[0].variable.value().raw_data(), 0, 0);
    return std::string();
  };
  const auto flip_row = [&](Trainer& trainer, Batch&) {
    const HeldShard held = trainer.model().sharded()->tables().shards()[0];
    if (trainer.comm()->rank() == 1)
      FlipBit(held.tables->rows().part(held.index, 0).tensor.raw_data(), 0, 0);
    return std::string();
  };
  std::filesystem::remove(path_);
  EXPECT_EQ(OnRanks(2, "data_parallel").error, "");
  EXPECT_EQ(OnRanks(2, "data_parallel", 3, flip_dense).error,
            path_ +
                ": step 4 begins with other values than the record has: on rank 1 "
                "dense_arch.model._mlp.0._linear.weight, elements 0 to 103 (step 3 was equal)");
  for (const char* record : {"has", "has none"}) {
    if (std::string(record) == "has none") std::filesystem::remove(path_);
    const std::string error = OnRanks(2, "data_parallel", 3, flip_row).error;
    EXPECT_TRUE(error.find("on rank 1 table a, row 0, weight (") != std::string::npos) << error;
  }
}

// Blocks of columns have states of a row each: no fault, as the error says.
TEST_F(RunVerifierTest, ADifferenceUnderAnotherPlanSaysSo) {
  const auto run = [&](const char* plan) {
    std::string error;
    RunLocalRanks(2, [&](Communicator& comm) {
      const TrainingRanks ranks{&comm, PlanOf(config_, 2, plan)};
      const std::string mine = Train(config_, batches_, path_, -1, nullptr, ranks).error;
      if (IsLeader(comm)) error = mine;
    });
    return error;
  };
  std::filesystem::remove(path_);
  EXPECT_EQ(run("table_wise"), "");
  EXPECT_EQ(run("table_wise"), "");
  const std::string error = run("columns");
  EXPECT_TRUE(error.find("; plans that cut tables otherwise may sum otherwise: table a was whole, "
                         "is cut at columns 0, 1)") != std::string::npos)
      << error;
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
  std::string record = testing::ReadFile(path_);
  record.replace(record.find("\"ranks\":1,"), 10, "\"ranks\":4294967297,");
  testing::WriteFile("record.jsonl", record);
  EXPECT_NE(verify(config_).find("a training on 4294967297 ranks"), std::string::npos);
  testing::WriteFile("record.jsonl", "{\"auc\": 1}\n");
  EXPECT_TRUE(verify(config_).starts_with(path_ + ":1: it is no record of tessera train --verify"));
  other.tables[1].location = EmbeddingLocation::kManagedCaching;
  EXPECT_EQ(testing::ErrorOf([&] { CheckCanDigest(other, Device::Cpu(), 1); }),
            "--verify reads the rows of tables in memory of their process: not beside location "
            "MANAGED_CACHING of table b");
  EXPECT_EQ(testing::ErrorOf([&] { CheckCanDigest(config_, Device::Cpu(), 2); }),
            "--verify reads the rows of tables in memory of their process: not beside "
            "--sharding-group-size, whose groups have tables of their own");
  ShardingPlan plan = testing::PlanFor(config_, 2, "row_wise");
  plan.tables["b"].kernel = ComputeKernel::kKeyValue;
  EXPECT_EQ(testing::ErrorOf([&] { CheckCanDigest(config_, plan); }),
            "--verify reads the rows of tables in memory of their process: not beside kernel "
            "key_value of table b in the plan");
}

}  // namespace
}  // namespace tessera
