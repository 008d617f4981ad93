// Streams, events, copies and graphs: when things run.
#include <gmock/gmock.h>

#include <functional>

#include "tests/emulation/run_kernel.h"

namespace tessera::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

cudaStream_t NewStream() {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  return stream;
}

// Remembers the place in a stream where it is made.
class Place {
 public:
  explicit Place(cudaStream_t stream) {
    cudaEventCreateWithFlags(&event_, cudaEventDefault);
    EXPECT_EQ(cudaEventRecord(event_, stream), cudaSuccess);
  }
  ~Place() { cudaEventDestroy(event_); }
  Place(const Place&) = delete;
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

void Add(int* p, int value) {
  if (threadIdx.x == 0) *p += value;
}
void AddFrom(int* p, const int* value) { Add(p, *value); }

// Pinned host memory of one number.
class Pinned {
 public:
  explicit Pinned(int value) {
    void* p = nullptr;
    cudaMallocHost(&p, sizeof(int));
    value_ = static_cast<int*>(p);
    *value_ = value;
  }
  ~Pinned() { cudaFreeHost(value_); }
  Pinned(const Pinned&) = delete;
  int* get() const { return value_; }
  int& operator*() const { return *value_; }

 private:
  int* value_;
};

void CopyInt(int* to, const int* from, cudaStream_t stream) {
  ASSERT_EQ(cudaMemcpyAsync(to, from, sizeof(int), cudaMemcpyDefault, stream), cudaSuccess);
}

TEST(Streams, RunWhenSomebodyWaits) {
  const cudaStream_t stream = NewStream();
  const DeviceArray<int> sum(1, 1, stream);
  const Pinned seen(0);
  Start(Grid(1, 32, 0, stream), Add, sum.get(), 5);
  CopyInt(seen.get(), sum.get(), stream);
  EXPECT_EQ(*seen, 0);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(*seen, 6);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
}

TEST(Streams, ReadPinnedMemoryWhenTheyComeToIt) {
  const DeviceArray<int> sum(1, 0);
  const Pinned source(3);
  CopyInt(sum.get(), source.get(), nullptr);
  *source = 4;  // too early: hardware may do this, and the emulator always does
  EXPECT_THAT(sum.Values(), ElementsAre(4));
}

TEST(Streams, ReadOrdinaryMemoryAtOnce) {
  const DeviceArray<int> sum(1, 0);
  int source = 3;
  CopyInt(sum.get(), &source, nullptr);
  source = 4;
  EXPECT_THAT(sum.Values(), ElementsAre(3));
}

TEST(Streams, AreOrderedByEventsAlone) {
  const cudaStream_t first = NewStream(), second = NewStream();
  const DeviceArray<int> value(1, 1, first);
  EXPECT_EQ(cudaStreamSynchronize(first), cudaSuccess);
  Start(Grid(1, 32, 0, first), Add, value.get(), 10);
  const DeviceArray<int> early(1, 0, second), late(1, 0, second);
  Start(Grid(1, 32, 0, second), AddFrom, early.get(), value.get());
  EXPECT_EQ(cudaStreamWaitEvent(second, Place(first)), cudaSuccess);
  Start(Grid(1, 32, 0, second), AddFrom, late.get(), value.get());
  EXPECT_THAT(early.Values(), ElementsAre(1));
  EXPECT_THAT(late.Values(), ElementsAre(11));
}

TEST(Events, TellWhetherAPlaceWasReached) {
  const cudaStream_t stream = NewStream();
  const DeviceArray<int> sum(1, 0, stream);
  const Place begin(stream);
  Start(Grid(1, 32, 0, stream), Add, sum.get(), 1);
  const Place end(stream);
  float milliseconds = -1;
  EXPECT_EQ(cudaEventQuery(begin), cudaErrorNotReady);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaErrorNotReady);
  EXPECT_EQ(cudaEventSynchronize(begin), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(end), cudaErrorNotReady);  // no further than asked
  EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaSuccess);
  EXPECT_GE(milliseconds, 0);
}

TEST(Copies, OfRowsOfAMatrix) {
  const DeviceArray<int> matrix(std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  std::vector<int> columns(6);
  EXPECT_EQ(
      cudaMemcpy2DAsync(columns.data(), 8, matrix.get() + 1, 12, 8, 3, cudaMemcpyDefault, nullptr),
      cudaSuccess);
  EXPECT_THAT(columns, ElementsAre(1, 2, 4, 5, 7, 8));
}

TEST(Counters, CountLaunchesWaitsAndCopies) {
  const cuda_emulation::Counters before = cuda_emulation::Stats();
  const DeviceArray<int> sum(1, 0);
  Start(Grid(2, 64), Add, sum.get(), 1);
  (void)sum.Values();
  const cuda_emulation::Counters after = cuda_emulation::Stats();
  EXPECT_EQ(after.launches - before.launches, 1);
  EXPECT_EQ(after.threads - before.threads, 128);
  EXPECT_EQ(after.copies - before.copies, 2);
  EXPECT_EQ(after.syncs - before.syncs, 1);
}

class Graphs : public ::testing::Test {
 protected:
  // A graph of the work that `fn` gives to stream_.
  cudaGraphExec_t Capture(const std::function<void()>& fn) {
    EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    fn();
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
    cudaGraphDestroy(graph);
    return exec;
  }
  cudaStream_t stream_ = NewStream();
};

TEST_F(Graphs, RunAsOftenAsTheyAreLaunched) {
  const DeviceArray<int> sum(1, 0, stream_);
  const cudaGraphExec_t exec = Capture([&] { Start(Grid(1, 32, 0, stream_), Add, sum.get(), 1); });
  EXPECT_THAT(sum.Values(), ElementsAre(0));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
  EXPECT_THAT(sum.Values(), ElementsAre(3));
  cudaGraphExecDestroy(exec);
}

TEST_F(Graphs, NothingMayWaitWhileOneIsCaptured) {
  const DeviceArray<int> sum(1, 0, stream_);
  int host = 0;
  cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);

  cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  // Ordinary memory would be read, or written, when the graph runs: it may be gone by then.
  EXPECT_EQ(cudaMemcpyAsync(&host, sum.get(), sizeof host, cudaMemcpyDefault, stream_),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaMemcpyAsync(sum.get(), &host, sizeof host, cudaMemcpyDefault, stream_),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
}

TEST_F(Graphs, ReadPinnedMemoryAnew) {
  const DeviceArray<int> sum(1, 0, stream_);
  const Pinned source(1);
  const cudaGraphExec_t exec = Capture([&] { CopyInt(sum.get(), source.get(), stream_); });
  for (const int value : {5, 6}) {
    *source = value;
    cudaGraphLaunch(exec, stream_);
    EXPECT_THAT(sum.Values(), ElementsAre(value));
  }
  cudaGraphExecDestroy(exec);
}

}  // namespace
}  // namespace tessera::testing
