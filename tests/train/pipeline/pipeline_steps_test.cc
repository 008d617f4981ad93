// Steps that do more, or less, than train once on their batch, and two pipelines over one model.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "comm/local_communicator.h"
#include "tests/train/pipeline/testing/small_run.h"

namespace tessera {
namespace {

using testing::DrawSmallBatch;
using testing::MakeSmallPipeline;
using testing::PipelinedModel;
using testing::SmallBatch;
using testing::SmallKind;
using testing::SmallLoop;
using testing::SmallRun;
using testing::SmallRunOptions;
using testing::SmallTraining;

constexpr const char* kAhead[] = {"sparse_dist", "prefetch", "semi_sync"};
constexpr int kOdd = 3;  // the batch whose step is another

KeyedJaggedTensor FeaturesOf(const SmallBatch& batch) { return batch.features; }

template <typename Fn>
std::string ErrorOf(Fn&& fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

using Step = std::function<float(Context&, const SmallBatch&)>;
using ChangeStep = std::function<Step(SmallTraining&, Step)>;

// Trains by steps that `change` makes of the plain ones. A step that throws has the loss −1.
SmallRun RunChanged(const SmallRunOptions& options, Communicator* comm, const ChangeStep& change) {
  SmallTraining training(options, comm);
  SmallRun run;
  const auto embeddings = training.model().Embeddings();
  SmallLoop loop = training.Loop({{embeddings.get(), FeaturesOf}});
  loop.step = change(training, loop.step);
  const auto pipeline = MakeSmallPipeline(options.pipeline == "none" ? "base" : options.pipeline,
                                          training.ctx(), loop, options.start_batch);
  for (bool more = true; more;) try {
      const std::optional<float> loss = pipeline->Progress();
      more = loss.has_value();
      if (more) run.losses.push_back(*loss);
    } catch (const Error&) {
      run.losses.push_back(-1);
      if (run.losses.size() > 2 * static_cast<size_t>(options.batches)) throw;
    }
  run.state = training.model().State(training.ctx());
  return run;
}

// Every pipeline beside the plain loop, alone and on two ranks. TrainPipelineSemiSync looks all its
// batches up in sync here.
void ExpectPlainBits(const ChangeStep& change) {
  for (const SmallKind& kind : std::vector<SmallKind>{
           {}, {.name = "sequences"}, {.cached = true}, {.name = "sequences", .cached = true}})
    for (const char* pipeline : kAhead) {
      if (kind.cached && pipeline == std::string("semi_sync")) continue;
      const SmallRunOptions plain{.kind = kind};
      const SmallRunOptions ahead{.kind = kind, .pipeline = pipeline, .start_batch = 100};
      const auto text = Format("{} of {}, cached: {}", pipeline, kind.name, kind.cached);
      EXPECT_TRUE(RunChanged(ahead, nullptr, change) == RunChanged(plain, nullptr, change)) << text;
      RunLocalRanks(2, [&](Communicator& comm) {
        const SmallRun expected = RunChanged(plain, &comm, change);
        EXPECT_TRUE(RunChanged(ahead, &comm, change) == expected) << text << ", on ranks";
      });
    }
}

Step ScoresFirst(SmallTraining& training, Step step) {
  return [&training, step = std::move(step)](Context& ctx, const SmallBatch& batch) {
    {
      const NoGrad no_grad(ctx);
      training.model().Pool(ctx, batch.features);
    }
    return step(ctx, batch);
  };
}

Step ScoresOne(SmallTraining& training, Step step) {
  return [&training, step = std::move(step)](Context& ctx, const SmallBatch& batch) {
    if (batch.number != kOdd) return step(ctx, batch);
    const NoGrad no_grad(ctx);
    return training.model().Pool(ctx, batch.features).value().ToVector<float>().at(0);
  };
}

Step ThrowsOnce(SmallTraining&, Step step) {
  return [step = std::move(step)](Context& ctx, const SmallBatch& batch) {
    if (batch.number == kOdd) throw Error("a bad batch");
    return step(ctx, batch);
  };
}

TEST(PipelineSteps, AStepMayScoreItsBatchFirst) { ExpectPlainBits(ScoresFirst); }
TEST(PipelineSteps, AStepMayOnlyScoreItsBatch) { ExpectPlainBits(ScoresOne); }
TEST(PipelineSteps, AStepMayFailBeforeItsForward) { ExpectPlainBits(ThrowsOnce); }

// The scores take nothing from the lookups ahead.
TEST(PipelineSteps, ScoresChangeNoLookupAhead) {
  const SmallRunOptions options{.pipeline = "semi_sync"};
  const ChangeStep same = [](SmallTraining&, Step step) { return step; };
  EXPECT_TRUE(RunChanged(options, nullptr, ScoresFirst) == RunChanged(options, nullptr, same));
  RunLocalRanks(2, [&](Communicator& comm) {
    const SmallRun expected = RunChanged(options, &comm, same);
    EXPECT_TRUE(RunChanged(options, &comm, ScoresFirst) == expected);
  });
}

TEST(PipelineSteps, ALookupAheadThatNobodyTakesIsNoStep) {
  for (const ChangeStep& change : {ChangeStep(ScoresOne), ChangeStep(ThrowsOnce)}) {
    const SmallRunOptions options{.pipeline = "semi_sync"};
    EXPECT_EQ(RunChanged(options, nullptr, change).state[0], 7.0f);
    RunLocalRanks(2, [&](Communicator& comm) {
      EXPECT_EQ(RunChanged(options, &comm, change).state[0], 7.0f);
    });
  }
}

// A step reads its result instead of the features that its pipeline knows.
using ChangeFeatures = std::function<KeyedJaggedTensor(Context&, const KeyedJaggedTensor&)>;

// The error of a training with weights whose step reads other features; empty if there is none.
std::string ErrorOfOther(const std::string& pipeline, bool cached, Communicator* comm,
                         const ChangeFeatures& change) {
  Context ctx({.threads = 1, .seed = 5});
  const EmbeddingBagCollectionOptions weighted{.is_weighted = true};
  std::optional<EmbeddingBagCollection> whole;
  std::optional<ShardedEmbeddingBagCollection> shards;
  std::unique_ptr<PipelinedEmbeddings> tables;
  if (comm == nullptr)
    tables = Pipelined(whole.emplace(ctx, testing::SmallTables(cached), weighted));
  else
    tables =
        Pipelined(shards.emplace(ctx, *comm, testing::SmallTables(false),
                                 testing::SmallPlan(comm->size(), {.cached = cached}), weighted));
  const auto running = MakeSmallPipeline(
      pipeline, ctx,
      {.source = [n = 0]() mutable -> std::optional<SmallBatch> {
         if (n == 4) return std::nullopt;
         SmallBatch batch = DrawSmallBatch(n++, 0);
         Context host({.threads = 1});
         batch.features =
             batch.features.WithWeights(Tensor::Full(host, batch.features.values().shape(), 2));
         return batch;
       },
       .step =
           [&](Context& on, const SmallBatch& batch) {
             Tape tape(on);
             const KeyedJaggedTensor features = change(on, batch.features);
             const Variable rows =
                 (whole ? whole->Forward(on, features) : shards->Forward(on, features)).values();
             tape.Backward(rows, Tensor::Full(on, rows.shape(), 1));
             return 0.0f;
           },
       .embeddings = {{tables.get(), FeaturesOf}}});
  return ErrorOf([&] {
    while (running->Progress()) {
    }
  });
}

void ExpectErrors(const ChangeFeatures& change, const std::vector<std::string>& texts) {
  for (const char* pipeline : kAhead)
    for (const bool cached : {false, true})
      for (const int ranks : {0, 2}) {
        if (cached && pipeline == std::string("semi_sync")) continue;
        std::string error;
        if (ranks == 0)
          error = ErrorOfOther(pipeline, cached, nullptr, change);
        else
          error = ErrorOf([&] {
            RunLocalRanks(ranks, [&](Communicator& comm) {
              const std::string mine = ErrorOfOther(pipeline, cached, &comm, change);
              if (!mine.empty()) throw Error(mine);
            });
          });
        const bool expected = std::ranges::any_of(texts, [&](const std::string& text) {
          return text.empty() ? error.empty() : error.find(text) != std::string::npos;
        });
        EXPECT_TRUE(expected) << pipeline << ", cached: " << cached << ", ranks " << ranks << ": "
                              << error;
      }
}

// A batch's ids with other bags, keys or weights are another batch.
TEST(PipelineSteps, TheSameIdsAreNotTheSameFeatures) {
  const std::vector<std::string> texts = {"make one forward of each collection",
                                          "than the first of 1 that were prefetched"};
  ExpectErrors(
      [](Context& ctx, const KeyedJaggedTensor& features) {
        return features.WithWeights(Tensor::Full(ctx, features.values().shape(), 3));
      },
      texts);
  ExpectErrors(
      [](Context&, const KeyedJaggedTensor& features) {
        return features.WithWeights(Variable(features.weights().value(), true));
      },
      texts);
  ExpectErrors(
      [](Context& ctx, const KeyedJaggedTensor& features) {
        return KeyedJaggedTensor::FromLengthsSync(features.keys(), features.values(),
                                                  features.lengths(ctx).Clone(ctx),
                                                  features.weights());
      },
      texts);
  ExpectErrors(
      [](Context& ctx, const KeyedJaggedTensor& features) {
        return KeyedJaggedTensor::FromLengthsSync({"f1", "f0", "f2", "f3"}, features.values(),
                                                  features.lengths(ctx), features.weights());
      },
      texts);
}

TEST(PipelineSteps, TheSamePartsAreTheSameFeatures) {
  ExpectErrors(
      [](Context& ctx, const KeyedJaggedTensor& features) {
        return KeyedJaggedTensor::FromLengthsSync(
            features.keys(), features.values(), features.lengths(ctx), features.weights().value());
      },
      {""});
}

void WaitABit() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

using Predictions = std::vector<std::vector<float>>;

// Trains, and after each step predicts one batch; by a pipeline each, where pipelined. On rank 0
// the training's work ahead is slow, on rank 1 that of the predictions.
SmallRun TrainAndPredict(bool pipelined, const SmallKind& kind, Communicator& comm) {
  SmallTraining training({.batches = 4, .kind = kind}, &comm);
  Context& ctx = training.ctx();
  const auto predict = [&](Context& on, const SmallBatch& batch) {
    const NoGrad no_grad(on);
    PipelinedModel& model = training.model();
    return model.Logits(on, model.Pool(on, batch.features)).value().ToVector<float>();
  };
  const int rank = comm.rank();
  const auto draw = [&kind, rank](int number) { return DrawSmallBatch(number, rank, kind); };
  SmallRun run;
  const auto note = [&](const std::vector<float>& logits) {
    run.losses.insert(run.losses.end(), logits.begin(), logits.end());
  };
  const auto tables = training.model().Embeddings();
  SmallLoop loop = training.Loop({{tables.get(), FeaturesOf}});
  loop.copy = [rank](Context&, SmallBatch batch) {
    if (rank == 0) WaitABit();
    return batch;
  };
  if (!pipelined) {
    for (int n = 0; n < 4; ++n) {
      run.losses.push_back(training.Step(ctx, draw(n)));
      note(predict(ctx, draw(100 + n)));
    }
  } else {
    TrainPipelineSparseDist<SmallBatch, float> pipeline(ctx, loop);
    for (int n = 100; const std::optional<float> loss = pipeline.Progress(); ++n) {
      run.losses.push_back(*loss);
      const auto others = training.model().Embeddings();
      EvalPipelineSparseDist<SmallBatch, std::vector<float>> predictions(
          ctx, {.source = [n, draw, read = false]() mutable -> std::optional<SmallBatch> {
                  if (std::exchange(read, true)) return std::nullopt;
                  return draw(n);
                },
                .copy =
                    [rank](Context&, SmallBatch batch) {
                      if (rank == 1) WaitABit();
                      return batch;
                    },
                .step = predict,
                .embeddings = {{others.get(), FeaturesOf}}});
      while (const auto logits = predictions.Progress()) note(*logits);
    }
  }
  run.state = training.model().State(ctx);
  return run;
}

TEST(PipelineSteps, PredictionsBetweenStepsHaveAGroupOfTheirOwn) {
  for (const SmallKind& kind :
       std::vector<SmallKind>{{}, {.name = "sequences", .dedup = IdDedup::kNode}, {.cached = true}})
    RunLocalRanks(kind.dedup == IdDedup::kNode ? 4 : 2, [&](Communicator& comm) {
      const SmallRun expected = TrainAndPredict(false, kind, comm);
      EXPECT_TRUE(TrainAndPredict(true, kind, comm) == expected) << kind.name;
    });
}

TEST(PipelineSteps, TwoPipelinesOfOnePipelinedAreRefusedOnRanks) {
  RunLocalRanks(2, [&](Communicator& comm) {
    SmallTraining training({}, &comm);
    const auto tables = training.model().Embeddings();
    const SmallLoop loop = training.Loop({{tables.get(), FeaturesOf}});
    {
      const PrefetchTrainPipelineSparseDist<SmallBatch, float> first(training.ctx(), loop);
      const std::string error = ErrorOf(
          [&] { const EvalPipelineSparseDist<SmallBatch, float> second(training.ctx(), loop); });
      EXPECT_TRUE(
          error.starts_with("EvalPipelineSparseDist over tables that a live "
                            "PrefetchTrainPipelineSparseDist works ahead for"))
          << error;
    }
    const EvalPipelineSparseDist<SmallBatch, float> after(training.ctx(), loop);
  });
}

}  // namespace
}  // namespace tessera
