// Every pipeline beside the plain loop, on every device, alone and on ranks.
#include "train/pipeline/train_pipeline.h"

#include <gtest/gtest.h>

#include "comm/local_communicator.h"
#include "tests/testing/devices.h"
#include "tests/train/pipeline/testing/small_run.h"

namespace tessera {
namespace {

using testing::SmallKind;
using testing::SmallRun;
using testing::SmallRunOptions;
using testing::SmallTraining;

constexpr const char* kExact[] = {"base", "sparse_dist", "prefetch"};

std::vector<SmallKind> Kinds(bool cached = false) {
  std::vector<SmallKind> kinds;
  for (const char* name : {"bags", "sequences", "raw_bags", "raw_sequences", "itep_bags",
                           "itep_sequences", "processed"})
    kinds.push_back({.name = name, .cached = cached});
  kinds.push_back({.name = "sequences", .cached = cached, .dedup = IdDedup::kRank});
  kinds.push_back({.name = "raw_sequences", .cached = cached, .dedup = IdDedup::kRank});
  return kinds;
}

// The runs of all ranks; one run if there are no ranks (0).
std::vector<SmallRun> RunsOf(const SmallRunOptions& options, int ranks) {
  if (ranks == 0) return {SmallTraining(options).Run()};
  std::vector<SmallRun> runs(static_cast<size_t>(ranks));
  RunLocalRanks(ranks, [&](Communicator& comm) {
    runs[static_cast<size_t>(comm.rank())] = SmallTraining(options, &comm).Run();
  });
  return runs;
}

class TrainPipelineTest : public testing::DeviceTest {
 protected:
  SmallRunOptions On(const std::string& pipeline, const SmallKind& kind = {}) const {
    return {.device = device(), .kind = kind, .pipeline = pipeline};
  }
  void ExpectPlainBits(const SmallKind& kind, int ranks) const {
    const std::vector<SmallRun> plain = RunsOf(On("none", kind), ranks);
    for (const char* pipeline : kExact)
      EXPECT_TRUE(RunsOf(On(pipeline, kind), ranks) == plain)
          << pipeline << " of " << kind.name << ", dedup " << ToString(kind.dedup) << ", ranks "
          << ranks;
  }
};

TEST_P(TrainPipelineTest, GivesTheBitsOfThePlainLoop) {
  for (const int ranks : {1, 2}) ExpectPlainBits({}, ranks);
  for (const SmallKind& kind : Kinds())
    for (const int ranks : {0, 3}) ExpectPlainBits(kind, ranks);
}

TEST_P(TrainPipelineTest, WhereIdsTravelOnceANode) {
  for (const char* name : {"sequences", "raw_sequences", "itep_sequences"})
    ExpectPlainBits({.name = name, .dedup = IdDedup::kNode}, 4);
}

TEST_P(TrainPipelineTest, WithCachedTablesToo) {
  for (const SmallKind& kind : Kinds(/*cached=*/true))
    for (const int ranks : {0, 2}) ExpectPlainBits(kind, ranks);
}

TEST_P(TrainPipelineTest, FewBatches) {
  for (int batches = 0; batches <= 3; ++batches) {
    SmallRunOptions options = On("none");
    options.batches = batches;
    const std::vector<SmallRun> plain = RunsOf(options, 2);
    for (const char* pipeline : {"base", "sparse_dist", "prefetch", "semi_sync"}) {
      options.pipeline = pipeline;
      const std::vector<SmallRun> runs = RunsOf(options, 2);
      EXPECT_EQ(runs[0].losses.size(), static_cast<size_t>(batches)) << pipeline;
      const bool stale = batches > 1 && pipeline == std::string("semi_sync");
      EXPECT_NE(runs == plain, stale) << pipeline << ", " << batches << " batches";
    }
  }
}

TEST_P(TrainPipelineTest, LeavingEarlyChangesNothing) {
  for (const SmallKind& kind : std::vector<SmallKind>{
           {}, {.name = "raw_sequences", .dedup = IdDedup::kRank}, {.name = "itep_bags"}})
    for (const int ranks : {0, 2}) {
      const std::vector<SmallRun> plain = RunsOf(On("none", kind), ranks);
      for (const char* pipeline : kExact)
        for (const int leave_after : {0, 1, 5}) {
          SmallRunOptions options = On(pipeline, kind);
          options.leave_after = leave_after;
          EXPECT_TRUE(RunsOf(options, ranks) == plain)
              << pipeline << " of " << kind.name << ", ranks " << ranks << ", after "
              << leave_after;
        }
    }
}

struct TwoBatches {
  testing::SmallBatch first, second;
  void RecordStream(const Context& ctx) const {
    first.RecordStream(ctx);
    second.RecordStream(ctx);
  }
};

// The result of training two models in one step; with a pipeline, both are in it.
std::vector<SmallRun> RunOfTwo(const SmallRunOptions& options, const SmallKind& other,
                               Communicator& comm) {
  Context ctx({.device = options.device, .threads = 1, .seed = 5});
  testing::PipelinedModel first(ctx, &comm, options.kind), second(ctx, &comm, other);
  const auto source = [&, n = 0]() mutable -> std::optional<TwoBatches> {
    if (n == options.batches) return std::nullopt;
    const int number = n++;
    return TwoBatches{testing::DrawSmallBatch(number, comm.rank(), options.kind),
                      testing::DrawSmallBatch(number, comm.rank(), other)};
  };
  const auto copy = [](Context& on, const TwoBatches& batch) {
    return TwoBatches{batch.first.To(on), batch.second.To(on)};
  };
  const auto step = [&](Context& on, const TwoBatches& batch) {
    return first.Step(on, batch.first) + second.Step(on, batch.second);
  };
  SmallRun losses;
  if (options.pipeline == "none") {
    for (auto read = source; const auto batch = read();)
      losses.losses.push_back(step(ctx, copy(ctx, *batch)));
  } else {
    const auto a = first.Embeddings(), b = second.Embeddings();
    PrefetchTrainPipelineSparseDist<TwoBatches, float> pipeline(
        ctx,
        {.source = source,
         .copy = copy,
         .step = step,
         .embeddings = {{a.get(), [](const TwoBatches& batch) { return batch.first.features; }},
                        {b.get(), [](const TwoBatches& batch) { return batch.second.features; }}}});
    while (const std::optional<float> loss = pipeline.Progress()) losses.losses.push_back(*loss);
  }
  losses.state = first.State(ctx);
  return {losses, {{}, second.State(ctx)}};
}

// One collection runs partly ahead, the other perhaps not at all.
TEST_P(TrainPipelineTest, TwoCollectionsOfDifferentKinds) {
  SmallRunOptions options = On("none", {.name = "bags", .cached = true});
  for (const SmallKind& other : Kinds())
    RunLocalRanks(2, [&](Communicator& comm) {
      SmallRunOptions pipelined = options;
      pipelined.pipeline = "prefetch";
      EXPECT_TRUE(RunOfTwo(pipelined, other, comm) == RunOfTwo(options, other, comm)) << other.name;
    });
}

void ExpectToLearnNothing(const SmallRunOptions& options) {
  RunLocalRanks(2, [&](Communicator& comm) {
    SmallTraining training(options, &comm);
    for (int n = 6; n < 9; ++n)
      training.Step(training.ctx(),
                    testing::DrawSmallBatch(n, comm.rank(), options.kind).To(training.ctx()));
    const std::vector<float> before = training.model().State(training.ctx());
    const auto predict = [&](Context& ctx, const testing::SmallBatch& batch) {
      return training.model()
          .Logits(ctx, training.model().Pool(ctx, batch.features))
          .value()
          .ToVector<float>();
    };
    std::vector<std::vector<float>> expected, got;
    for (int n = 0; n < 6; ++n)
      expected.push_back(
          predict(training.ctx(),
                  testing::DrawSmallBatch(n, comm.rank(), options.kind).To(training.ctx())));
    const auto embeddings = training.model().Embeddings();
    EvalPipelineSparseDist<testing::SmallBatch, std::vector<float>> pipeline(
        training.ctx(),
        {.source = [&, n = 0]() mutable -> std::optional<testing::SmallBatch> {
           if (n == 6) return std::nullopt;
           return testing::DrawSmallBatch(n++, comm.rank(), options.kind);
         },
         .copy = [](Context& on, testing::SmallBatch batch) { return batch.To(on); },
         .step = predict,
         .embeddings = {{embeddings.get(),
                         [](const testing::SmallBatch& batch) { return batch.features; }}}});
    Tape tape(training.ctx());
    while (auto logits = pipeline.Progress()) got.push_back(std::move(*logits));
    EXPECT_EQ(got, expected) << options.kind.name;
    EXPECT_EQ(tape.size(), 0);
    EXPECT_EQ(training.model().State(training.ctx()), before) << options.kind.name;
  });
}

TEST_P(TrainPipelineTest, EvalPredictsAndLearnsNothing) {
  for (const SmallKind& kind : Kinds()) ExpectToLearnNothing(On("none", kind));
}

TESSERA_INSTANTIATE_DEVICES(TrainPipelineTest);

}  // namespace
}  // namespace tessera
