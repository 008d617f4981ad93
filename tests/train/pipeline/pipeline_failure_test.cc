// Failures in each part of a pipeline, and what the ranks then do.
#include <gtest/gtest.h>

#include "comm/local_communicator.h"
#include "tests/train/pipeline/testing/small_run.h"

namespace tessera {
namespace {

using testing::MakeSmallPipeline;
using testing::SmallBatch;
using testing::SmallKind;
using testing::SmallLoop;
using testing::SmallRunOptions;
using testing::SmallTraining;

constexpr const char* kAll[] = {"base", "sparse_dist", "prefetch", "semi_sync"};
constexpr int kFailing = 4, kBatches = 12;

template <typename Fn>
std::string ErrorOf(Fn&& fn) {
  try {
    fn();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

// Applies `change` to the loop, and trains as many batches as it can. Returns how many.
int Train(const std::string& pipeline, Communicator* comm,
          const std::function<void(SmallLoop&)>& change, const SmallKind& kind = {}) {
  SmallTraining training({.batches = kBatches, .kind = kind}, comm);
  const auto embeddings = training.model().Embeddings();
  SmallLoop loop =
      training.Loop({{embeddings.get(), [](const SmallBatch& batch) { return batch.features; }}});
  change(loop);
  const auto running = MakeSmallPipeline(pipeline, training.ctx(), loop);
  int trained = 0;
  try {
    while (running->Progress()) ++trained;
  } catch (const Error& error) {
    // On ranks, a pipeline that works ahead fails in the step before, which waits for the failed
    // work.
    const bool waits = comm != nullptr && !kind.itep() && kind.name != "processed" &&
                       (pipeline == "prefetch" || pipeline == "semi_sync") &&
                       error.what() != std::string("step failed");
    EXPECT_EQ(trained, kFailing - waits) << pipeline << ": " << error.what();
    throw;
  }
  return trained;
}

// The error of the ranks' training if `change` is made on rank 1 alone; every rank ends.
std::string ErrorOfRanks(const std::string& pipeline, const SmallKind& kind,
                         const std::function<void(SmallLoop&)>& change) {
  return ErrorOf([&] {
    RunLocalRanks(3, [&](Communicator& comm) {
      if (comm.rank() == 1) {
        Train(pipeline, &comm, change, kind);
        return;
      }
      SmallTraining training({.batches = kBatches, .kind = kind, .pipeline = pipeline}, &comm);
      training.Run();
    });
  });
}

void FailingSource(SmallLoop& loop) {
  loop.source = [source = loop.source, n = 0]() mutable {
    if (n++ == kFailing) throw Error("source failed");
    return source();
  };
}

void FailingCopy(SmallLoop& loop) {
  loop.copy = [copy = loop.copy](Context& on, SmallBatch batch) {
    if (batch.number == kFailing) throw Error("copy failed");
    return copy(on, std::move(batch));
  };
}

// Puts a bad id of table t2 into the batch; the bounds check, which input_dist makes, finds it.
void BadId(SmallLoop& loop) {
  loop.copy = [](Context&, SmallBatch batch) {
    if (batch.number == kFailing) batch.features.values().span<int64_t>().back() = 1000;
    return batch;
  };
}

void FailingStep(SmallLoop& loop) {
  loop.step = [step = loop.step](Context& ctx, const SmallBatch& batch) {
    if (batch.number == kFailing) throw Error("step failed");
    return step(ctx, batch);
  };
}

struct Failure {
  void (*change)(SmallLoop&);
  const char* text;
};
constexpr Failure kFailures[] = {{FailingSource, "source failed"},
                                 {FailingCopy, "copy failed"},
                                 {BadId, "1000"},
                                 {FailingStep, "step failed"}};

// Calls fn(pipeline, kind) for all that go together.
void ForAll(const std::function<void(const std::string&, const SmallKind&)>& fn) {
  for (const char* pipeline : kAll)
    for (const char* kind : {"bags", "sequences", "raw_bags", "itep_sequences", "processed"}) {
      const bool semi_sync = pipeline == std::string("semi_sync");
      if (semi_sync && kind != std::string("bags") && kind != std::string("sequences")) continue;
      fn(pipeline, {.name = kind});
    }
}

TEST(PipelineFailure, BatchesBeforeItAreTrained) {
  ForAll([](const std::string& pipeline, const SmallKind& kind) {
    for (const Failure& failure : kFailures) {
      const std::string error = ErrorOf([&] { Train(pipeline, nullptr, failure.change, kind); });
      EXPECT_NE(error.find(failure.text), std::string::npos)
          << pipeline << " of " << kind.name << ": " << error;
    }
  });
}

TEST(PipelineFailure, EndsAllRanks) {
  ForAll([](const std::string& pipeline, const SmallKind& kind) {
    for (const Failure& failure : kFailures) {
      const std::string error = ErrorOfRanks(pipeline, kind, failure.change);
      EXPECT_NE(error.find("rank 1: "), std::string::npos)
          << pipeline << " of " << kind.name << ": " << error;
      EXPECT_NE(error.find(failure.text), std::string::npos)
          << pipeline << " of " << kind.name << ": " << error;
    }
  });
}

TEST(PipelineFailure, StopReadingEndsAllRanksAlike) {
  for (const char* pipeline : kAll) {
    std::vector<int> trained(3);
    RunLocalRanks(3, [&](Communicator& comm) {
      SmallTraining training({.batches = kBatches}, &comm);
      const auto embeddings = training.model().Embeddings();
      const auto running = MakeSmallPipeline(
          pipeline, training.ctx(), training.Loop({{embeddings.get(), [](const SmallBatch& batch) {
                                                      return batch.features;
                                                    }}}));
      for (int n = 0; n < 3; ++n) running->Progress();
      running->StopReading();
      int& mine = trained[static_cast<size_t>(comm.rank())] = 3;
      while (running->Progress()) ++mine;
    });
    EXPECT_GT(trained[0], 3) << pipeline;
    EXPECT_LE(trained[0], 7) << pipeline;
    EXPECT_EQ(trained, std::vector<int>(3, trained[0])) << pipeline;
  }
}

TEST(PipelineFailure, PartsThatAreNotThereAreNamed) {
  const auto error = [](const std::function<void(SmallLoop&)>& change) {
    return ErrorOf([&] { Train("sparse_dist", nullptr, change); });
  };
  EXPECT_TRUE(
      error([](SmallLoop& loop) { loop.step = {}; }).starts_with("a pipeline without a step"));
  EXPECT_TRUE(
      error([](SmallLoop& loop) { loop.source = {}; }).starts_with("a pipeline without a source"));
  EXPECT_TRUE(error([](SmallLoop& loop) {
                loop.embeddings[0].embeddings = nullptr;
              }).starts_with("a pipeline's embeddings 0: a collection and its features"));
}

TEST(PipelineFailure, AStepWithoutAForwardIsAnError) {
  const std::string error = ErrorOf([&] {
    Train("sparse_dist", nullptr, [](SmallLoop& loop) {
      loop.step = [step = loop.step](Context& ctx, const SmallBatch& batch) {
        return batch.number == kFailing ? 0.0f : step(ctx, batch);
      };
    });
  });
  EXPECT_NE(error.find("make one forward of each collection"), std::string::npos) << error;
}

TEST(PipelineFailure, WeightsThatNeedAGradientAreAnError) {
  const std::string error = ErrorOf([&] {
    Train("sparse_dist", nullptr, [](SmallLoop& loop) {
      loop.copy = [](Context& on, SmallBatch batch) {
        if (batch.number == kFailing)
          batch.features = batch.features.WithWeights(
              Variable(Tensor::Full(on, batch.features.values().shape(), 1), true));
        return batch;
      };
    });
  });
  EXPECT_NE(error.find("weights that need a gradient"), std::string::npos) << error;
}

}  // namespace
}  // namespace tessera
