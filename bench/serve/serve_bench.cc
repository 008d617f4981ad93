// Latency of requests that come at random times to a served DLRM on the CPU (served_dlrm.h). One
// request after another: tessera bench serve.
//
//   bazel run -c opt //bench/serve:serve_bench                                    about 20 s
//   bazel run -c opt //bench/serve:serve_bench -- --dim 16,64 --codec f32,int8,int4
//   bazel run -c opt //bench/serve:serve_bench -- --soak 600
//
// Open loop: requests of mixed sizes come at random times (Poisson) at a rate, whatever the answers
// take, through the queue; latency is from the time a request was due. A soak is an open loop of
// the first dim and codec alone, which says what memory is resident on the way, and fails on an
// error.
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "bench/harness/bench_main.h"
#include "bench/harness/cold_rounds.h"
#include "bench/harness/samples.h"
#include "bench/harness/scratch_folder.h"
#include "bench/serve/served_dlrm.h"
#include "runtime/base/process_memory.h"
#include "runtime/base/report_text.h"
#include "runtime/context.h"
#include "runtime/flags/flags.h"
#include "serve/request_queue.h"

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kSeed = 11;

double Seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

void PrintLine(const std::string& name, const std::vector<double>& seconds) {
  const double p50 = QuantileOf(seconds, 0.5), p99 = QuantileOf(seconds, 0.99);
  std::printf("%-28s p50 %8.1f us  p99 %8.1f us  p99.9 %8.1f us  p99/p50 %.1f  (%zu)\n",
              name.c_str(), 1e6 * p50, 1e6 * p99, 1e6 * QuantileOf(seconds, 0.999), p99 / p50,
              seconds.size());
}

struct OpenLoop {
  double rate = 2000, seconds = 10;
  int workers = 2, resident_lines = 2;
};

// One request in ten has 16 examples, one in a hundred 64, the others 1.
int64_t BatchOf(double u) { return u < 0.01 ? 64 : u < 0.1 ? 16 : 1; }

struct Pending {
  Clock::time_point due;
  int64_t batch;
  std::future<serve::ScoredRequest> answer;
};

// Waits for answers in the order of their requests, on a thread of its own. A latency is from when
// the request was due to when its answer was there.
class Answers {
 public:
  Answers() : thread_([this] { Collect(); }) {}

  void Add(Pending pending) {
    {
      const std::lock_guard lock(mutex_);
      pending_.push_back(std::move(pending));
    }
    changed_.notify_one();
  }
  // Waits for all answers. Called after the last Add.
  void Finish() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  void Print() const {
    for (const auto& [batch, seconds] : by_batch_) PrintLine(Format("  B{}", batch), seconds);
  }
  int64_t errors() const { return errors_; }

 private:
  std::optional<Pending> Next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ || !pending_.empty(); });
    if (pending_.empty()) return std::nullopt;
    Pending next = std::move(pending_.front());
    pending_.pop_front();
    return next;
  }
  void Collect() {
    while (std::optional<Pending> next = Next()) {
      try {
        const serve::ScoredRequest scored = next->answer.get();
        by_batch_[next->batch].push_back(Seconds(scored.answered - next->due));
      } catch (const Error&) {
        ++errors_;
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Pending> pending_;
  bool done_ = false;
  std::map<int64_t, std::vector<double>> by_batch_;  // of the thread alone, until it has ended
  int64_t errors_ = 0;
  std::thread thread_;
};

// Requests to draw from, by their sizes.
std::map<int64_t, std::vector<RawRequest>> DrawRequests(Draws& draws,
                                                        const serve::ModelSpec& spec) {
  std::map<int64_t, std::vector<RawRequest>> raw;
  for (const int64_t batch : {1, 16, 64})
    for (int i = 0; i < 32; ++i) raw[batch].push_back(DrawRequest(draws, spec, batch));
  return raw;
}

// Prints the resident memory at `times` in `seconds`, counted from the first call.
class ResidentLines {
 public:
  ResidentLines(int times, double seconds) : every_(seconds / times) {}
  void At(double second) {
    if (second < next_) return;
    std::printf("  after %5.0f s: %s resident\n", second,
                internal::Bytes(MemoryOfProcess().bytes).c_str());
    next_ += every_;
  }

 private:
  const double every_;
  double next_ = every_;
};

// The number of errors.
int64_t RunOpenLoop(serve::Predictor& predictor, const OpenLoop& options) {
  const auto model = predictor.model();
  Draws draws(kSeed, 0);
  const auto raw = DrawRequests(draws, model->spec());
  Answers answers;
  ResidentLines resident(options.resident_lines, options.seconds);
  int64_t sent = 0;
  {
    serve::RequestQueue queue(predictor, {.workers = options.workers});
    Context ctx({.threads = 1});
    const auto begin = Clock::now();
    for (double due = 0; due < options.seconds; ++sent) {
      due += -std::log(1 - draws.Uniform()) / options.rate;
      const auto at =
          begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(due));
      std::this_thread::sleep_until(at);
      const int64_t batch = BatchOf(draws.Uniform());
      const auto& choices = raw.at(batch);
      const RawRequest& chosen = choices[static_cast<size_t>(sent) % choices.size()];
      answers.Add({at, batch, queue.Submit(RequestOf(ctx, *model, chosen))});
      resident.At(due);
    }
  }
  answers.Finish();
  std::printf("open loop: %lld requests in %.0f s, %lld errors\n", static_cast<long long>(sent),
              options.seconds, static_cast<long long>(answers.errors()));
  answers.Print();
  return answers.errors();
}

int Main(int argc, char** argv) {
  internal::ProgramFlags flags("Latency of requests to a served DLRM");
  std::vector<int64_t> dims = {64};
  std::vector<std::string> codecs = {"int8"};
  int64_t cap = 100'000;
  OpenLoop open;
  double soak = 0;
  std::string folder;
  flags.Add("--dim", dims, "dims").Delimiter(',');
  flags.Add("--codec", codecs, "codecs of rows").Delimiter(',');
  flags.Add("--cap", cap, "most rows of a table");
  flags.Add("--open-loop", open.rate, "requests a second");
  flags.Add("--seconds", open.seconds, "of a loop");
  flags.Add("--soak", soak, "seconds of one loop, and nothing else");
  flags.Add("--workers", open.workers, "threads that compute");
  flags.Add("--folder", folder, "where models are written, in a new folder that is removed");
  if (!flags.Parse(argc, argv)) return 0;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a line is seen when it is there, in a pipe, too
  std::printf("%s\n", MachineName().c_str());
  if (soak > 0) {
    dims.resize(1);
    codecs.resize(1);
    open.seconds = soak;
    open.resident_lines = 10;
  }
  int64_t errors = 0;
  const ScratchFolder scratch(folder);
  for (const int64_t dim : dims)
    for (const std::string& codec : codecs) {
      std::printf("D%lld_%s\n", static_cast<long long>(dim), codec.c_str());
      serve::Predictor predictor(WriteServedDlrm(scratch.path(), dim, cap, codec));
      errors += RunOpenLoop(predictor, open);
    }
  return errors == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("serve_bench", tessera::bench::Main, argc, argv);
}
