#include "serve/request_queue.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/serve/testing/failing_memory.h"
#include "tests/serve/testing/small_model.h"
#include "tests/testing/error_of.h"

namespace tessera::serve {
namespace {

using std::chrono::milliseconds;
using tessera::testing::ErrorOf;
using tessera::testing::MakeSmallModel;
using tessera::testing::OneExample;
using tessera::testing::SmallModel;
using tessera::testing::WriteSmallModel;

// A wait so long that no test could last it.
constexpr std::chrono::seconds kLong{600};

PredictRequest Example(int64_t i) { return OneExample({{i % 60}, {i % 50, i % 7}, {}, {i % 3}}); }

void ExpectNear(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6f);
}

TEST(RequestQueue, EveryRequestGetsItsOwnScores) {
  Predictor predictor(WriteSmallModel(MakeSmallModel("own.safetensors"), "own"));
  RequestQueue queue(predictor, {.deadline = kLong, .workers = 2});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<std::future<ScoredRequest>> answers;
      for (int64_t i = t; i < 400; i += 4) answers.push_back(queue.Submit(Example(i)));
      for (int64_t i = t; i < 400; i += 4)
        ExpectNear(answers[static_cast<size_t>(i / 4)].get().scores, predictor.Predict(Example(i)));
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(RequestQueue, RequestsAreComputedTogetherUpToTheLargestBatch) {
  Predictor predictor(WriteSmallModel(MakeSmallModel("together.safetensors"), "together"));
  RequestQueue queue(predictor, {.max_batch = 3, .max_wait = kLong, .deadline = kLong});
  auto a = queue.Submit(Example(0)), b = queue.Submit(Example(1));
  EXPECT_EQ(a.wait_for(milliseconds(1)), std::future_status::timeout);  // it waits for a third
  auto c = queue.Submit(Example(2));
  ExpectNear(a.get().scores, predictor.Predict(Example(0)));
  ExpectNear(b.get().scores, predictor.Predict(Example(1)));
  const ScoredRequest third = c.get();
  ExpectNear(third.scores, predictor.Predict(Example(2)));
  EXPECT_EQ(third.model_version, 1);
}

TEST(RequestQueue, WhatIsNotCountedWaitsForNoOther) {
  Predictor predictor(WriteSmallModel(MakeSmallModel("alone.safetensors"), "alone"));
  RequestQueue queue(predictor, {.max_batch = 3, .max_wait = kLong, .deadline = kLong});
  PredictRequest request = Example(0);
  request.counted = false;
  ExpectNear(queue.Submit(request).get().scores, predictor.Predict(Example(0)));
}

TEST(RequestQueue, OneBadRequestSpoilsNoOther) {
  Predictor predictor(WriteSmallModel(MakeSmallModel("bad.safetensors"), "bad"));
  RequestQueue queue(predictor, {.max_batch = 2, .max_wait = kLong, .deadline = kLong});
  PredictRequest bad = Example(0);
  Context ctx({.threads = 1});
  bad.dense = Tensor::Zeros(ctx, {1, 12});
  auto refused = queue.Submit(bad), good = queue.Submit(Example(1));
  EXPECT_THROW(refused.get(), Error);
  ExpectNear(good.get().scores, predictor.Predict(Example(1)));
}

TEST(RequestQueue, DeadlinesAndLimits) {
  Predictor predictor(WriteSmallModel(MakeSmallModel("late.safetensors"), "late"));
  {
    RequestQueue queue(predictor, {.deadline = milliseconds(-1)});
    EXPECT_THROW(queue.Submit(Example(0)).get(), DeadlinePassed);
  }
  std::future<ScoredRequest> last;
  {
    RequestQueue queue(predictor, {.max_wait = kLong, .deadline = kLong, .max_queued = 1});
    last = queue.Submit(Example(0));
    EXPECT_EQ(queue.queued(), 1u);
    EXPECT_THROW(queue.Submit(Example(1)), QueueFull);
    EXPECT_EQ(ErrorOf([&] { queue.Submit(Example(1)); }), "the queue has 1 request already");
  }  // a queue that goes answers what it has
  ExpectNear(last.get().scores, predictor.Predict(Example(0)));
}

// Each allocation of a worker in turn is the first to fail: each request has one answer, and the
// queue goes on.
TEST(RequestQueue, AnswersOnceWhenMemoryRunsOut) {
  tessera::testing::SpareThisThread();
  Predictor predictor(WriteSmallModel(MakeSmallModel("memory.safetensors"), "memory"));
  RequestQueue queue(predictor, {.max_batch = 3, .max_wait = kLong, .deadline = kLong});
  int failed = 0, scored = 0;
  for (int succeed = 0; succeed < 300; ++succeed) {
    std::atomic<int> calls = 0;
    std::promise<void> all;
    std::vector<PredictRequest> requests = {Example(0), Example(1), Example(2)};
    tessera::testing::LetAllocationsSucceed(succeed);
    for (PredictRequest& request : requests)
      queue.Submit(std::move(request), [&](std::exception_ptr error, ScoredRequest) {
        ++(error ? failed : scored);
        if (++calls == 3) all.set_value();
      });
    ASSERT_EQ(all.get_future().wait_for(kLong), std::future_status::ready);
    tessera::testing::LetAllocationsSucceed(-1);
    ASSERT_EQ(calls, 3);
  }
  EXPECT_GT(failed, 0);
  EXPECT_GT(scored, 0);
}

}  // namespace
}  // namespace tessera::serve
