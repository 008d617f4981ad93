// TrainPipelineSemiSync beside a slow reference that does the same work one step after another:
// rows of batch i + 1 are those from before the update of batch i.
#include <gtest/gtest.h>

#include "comm/local_communicator.h"
#include "tests/testing/devices.h"
#include "tests/train/pipeline/testing/small_run.h"

namespace tessera {
namespace {

using testing::DrawSmallBatch;
using testing::PipelinedModel;
using testing::SmallBatch;
using testing::SmallKind;
using testing::SmallRun;
using testing::SmallRunOptions;
using testing::SmallTables;
using testing::SmallTraining;

// A step on rows that were looked up before. The gradient of these rows then goes through a second
// lookup, whose own rows nobody sees, into the tables: an update depends on ids and gradients
// alone.
class StaleRows final : public Function {
 public:
  StaleRows(PipelinedModel& model, const SmallBatch& batch) : model_(model), batch_(batch) {}
  std::string_view name() const override { return "stale rows"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    Tape tape(ctx);
    tape.Backward(model_.Pool(ctx, batch_.features), grads[0]);
    return {};
  }

 private:
  PipelinedModel& model_;
  const SmallBatch& batch_;
};

// fresh(i): whether batch i is looked up after the update of batch i − 1 after all.
SmallRun Reference(const SmallRunOptions& options, Communicator* comm,
                   const std::function<bool(int)>& fresh) {
  SmallTraining training(options, comm);
  Context& ctx = training.ctx();
  PipelinedModel& model = training.model();
  const int rank = comm == nullptr ? 0 : comm->rank();
  std::vector<SmallBatch> batches;
  for (int n = 0; n < options.batches; ++n)
    batches.push_back(DrawSmallBatch(n, rank, options.kind).To(ctx));
  const auto look_up = [&](int n) {
    const NoGrad no_grad(ctx);
    return model.Pool(ctx, batches[static_cast<size_t>(n)].features).value();
  };
  SmallRun run;
  Tensor rows;
  for (int n = 0; n < options.batches; ++n) {
    if (n == 0 || fresh(n)) rows = look_up(n);
    const Tensor next = n + 1 < options.batches ? look_up(n + 1) : Tensor();
    const SmallBatch& batch = batches[static_cast<size_t>(n)];
    run.losses.push_back(model.Step(ctx, batch, [&](Context& on) {
      return Record(on, std::make_unique<StaleRows>(model, batch), {}, rows, /*always=*/true);
    }));
    model.SetLearningRate(0.2f / static_cast<float>(2 + n));
    rows = next;
  }
  run.state = model.State(ctx);
  return run;
}

class SemiSyncTest : public testing::DeviceTest {
 protected:
  SmallRunOptions Options() const { return {.device = device(), .pipeline = "semi_sync"}; }

  void ExpectReference(const SmallRunOptions& options, const std::function<bool(int)>& fresh) {
    EXPECT_TRUE(SmallTraining(options).Run() == Reference(options, nullptr, fresh)) << "alone";
    const bool nodes = options.kind.dedup == IdDedup::kNode;
    for (const int ranks : nodes ? std::vector<int>{4} : std::vector<int>{1, 2, 3})
      RunLocalRanks(ranks, [&](Communicator& comm) {
        const SmallRun run = SmallTraining(options, &comm).Run();
        EXPECT_TRUE(run == Reference(options, &comm, fresh))
            << "rank " << comm.rank() << " of " << ranks;
      });
  }
};

TEST_P(SemiSyncTest, RowsAreOneUpdateBehind) {
  ExpectReference(Options(), [](int) { return false; });
}

TEST_P(SemiSyncTest, RowsOfSequencesToo) {
  for (const IdDedup dedup : {IdDedup::kNone, IdDedup::kRank, IdDedup::kNode}) {
    SmallRunOptions options = Options();
    options.kind = {.name = "sequences", .dedup = dedup};
    ExpectReference(options, [](int) { return false; });
    options.settle_after = 4;
    ExpectReference(options, [](int n) { return n == 4; });
  }
}

TEST_P(SemiSyncTest, IsNotThePlainLoop) {
  SmallRunOptions plain = Options();
  plain.pipeline = "none";
  EXPECT_NE(SmallTraining(Options()).Run().losses, SmallTraining(plain).Run().losses);
}

TEST_P(SemiSyncTest, TheFirstBatchesMayBeInSync) {
  SmallRunOptions options = Options();
  options.start_batch = 3;
  ExpectReference(options, [](int n) { return n < 3; });
  options.start_batch = 100;
  ExpectReference(options, [](int) { return true; });
}

TEST_P(SemiSyncTest, SettledIsAsAfterTheLastStep) {
  SmallRunOptions options = Options();
  options.settle_after = 4;
  ExpectReference(options, [](int n) { return n == 4; });
}

// A batch that was looked up ahead is taken back, counters too; the rest is in sync.
TEST_P(SemiSyncTest, LeavingEarly) {
  SmallRunOptions options = Options();
  options.leave_after = 4;
  ExpectReference(options, [](int n) { return n >= 4; });
}

std::string ErrorOfSemiSync(Context& ctx, PipelinedEmbeddings& embeddings) {
  try {
    TrainPipelineSemiSync<SmallBatch, float> pipeline(
        ctx,
        {.source = []() -> std::optional<SmallBatch> { return std::nullopt; },
         .step = [](Context&, const SmallBatch&) { return 0.0f; },
         .embeddings = {{&embeddings, [](const SmallBatch& batch) { return batch.features; }}}});
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_P(SemiSyncTest, RefusesRowsThatAreFoundInsideTheStep) {
  for (const auto& [name, text] : std::vector<std::pair<const char*, const char*>>{
           {"raw_bags", "rows of raw ids (managed collision) are found inside the step"},
           {"raw_sequences", "rows of raw ids (managed collision) are found inside the step"},
           {"itep_bags", "rows of pruned tables (ITEP) are found inside the step"},
           {"itep_sequences", "rows of pruned tables (ITEP) are found inside the step"},
           {"processed", "a feature processor's weights are parameters"}})
    for (const int ranks : {0, 1}) {
      const auto refuse = [&, name = name, text = text](Communicator* comm) {
        Context on({.device = device(), .threads = 1});
        PipelinedModel model(on, comm, {.name = name});
        const std::string error = ErrorOfSemiSync(on, *model.Embeddings());
        EXPECT_NE(error.find("a semi_sync pipeline"), std::string::npos) << name << ": " << error;
        EXPECT_NE(error.find(text), std::string::npos) << name << ": " << error;
      };
      if (ranks == 0)
        refuse(nullptr);
      else
        RunLocalRanks(ranks, [&](Communicator& comm) { refuse(&comm); });
    }
}

TEST_P(SemiSyncTest, RefusesTablesThatCannot) {
  const auto error = [&](const std::function<void(std::vector<EmbeddingBagConfig>&)>& change) {
    std::vector<EmbeddingBagConfig> tables = SmallTables(false);
    change(tables);
    EmbeddingBagCollection collection(ctx(), tables);
    return ErrorOfSemiSync(ctx(), *Pipelined(collection));
  };
  EXPECT_EQ(error([](auto&) {}), "");
  EXPECT_NE(error([](auto& tables) {
              tables[1].location = EmbeddingLocation::kManagedCaching;
            }).find("table t1: its rows pass through a cache"),
            std::string::npos);
  EXPECT_NE(error([](auto& tables) {
              tables[0].optimizer = EnsembleRowwiseAdagrad{};
            }).find("table t0: rule ensemble_rowwise_adagrad"),
            std::string::npos);
}

TESSERA_INSTANTIATE_DEVICES(SemiSyncTest);

}  // namespace
}  // namespace tessera
