// Latency of requests to a served DLRM on the CPU: 26 tables of Criteo's rows, one id a bag, 13
// dense features, MLPs 512-256-D and 512-256-1, scores included (the shape of TorchRec's quantized
// model that tools/compare_peers times).
//
//   bazel run -c opt //bench/serve:serve_bench                                    about 40 s
//   bazel run -c opt //bench/serve:serve_bench -- --dim 16,64 --codec f32,int8,int4
//   bazel run -c opt //bench/serve:serve_bench -- --soak 600
//
// Closed loop: one caller, one thread, the next request after the answer; building the request is
// included, as a KeyedJaggedTensor from flat ids. "dense" is the dense part alone for the same batch.
// Open loop: requests of mixed sizes come at random times (Poisson) at a rate, whatever the answers
// take, through the queue; latency is from the time a request was due. A soak is an open loop of the
// first dim and codec alone, which says what memory is resident on the way, and fails on an error.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "bench/harness/bench_main.h"
#include "bench/harness/cold_rounds.h"
#include "bench/harness/criteo_rows.h"
#include "bench/harness/scratch_folder.h"
#include "cli/latencies.h"
#include "runtime/files.h"
#include "runtime/report_text.h"
#include "serve/dense_part.h"
#include "serve/model_writer.h"
#include "serve/request_queue.h"
#include "train/trainer.h"

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kDense = 13;
constexpr uint64_t kSeed = 11;

double Seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

TrainConfig ConfigOf(int64_t dim, int64_t cap) {
  TrainConfig config;
  config.model = {.dense_in = kDense, .dense_arch = {512, 256, dim}, .over_arch = {512, 256, 1}};
  for (const int64_t rows : CriteoRows(cap)) {
    EmbeddingBagConfig table;
    table.name = Format("t{}", config.tables.size());
    table.num_embeddings = rows;
    table.embedding_dim = dim;
    table.feature_names = {Format("cat_{}", config.tables.size())};
    config.tables.push_back(table);
  }
  return config;
}

// A model directory of an untrained model.
std::string WriteModel(const std::string& folder, int64_t dim, int64_t cap,
                       const std::string& codec) {
  const TrainConfig config = ConfigOf(dim, cap);
  Context ctx({.seed = kSeed});
  const std::string checkpoint = PathIn(folder, Format("D{}.safetensors", dim));
  if (!std::filesystem::exists(checkpoint)) Trainer(ctx, config).Save(checkpoint);
  const std::string directory = PathIn(folder, Format("D{}_{}", dim, codec));
  serve::WriteModel(ctx, ReadCheckpoint(checkpoint), config, directory,
                    {.codec = ParseRowCodec(codec)});
  return directory;
}

// What a client has: dense features, and ids, feature after feature.
struct RawRequest {
  int64_t batch = 0;
  std::vector<float> dense;
  std::vector<int64_t> ids;
};

class Draws {
 public:
  double Uniform() { return random_.Next(); }
  RawRequest Request(const serve::ModelSpec& spec, int64_t batch) {
    RawRequest raw{.batch = batch, .dense = {}, .ids = {}};
    for (int64_t i = 0; i < batch * kDense; ++i) raw.dense.push_back(static_cast<float>(Uniform()));
    for (const serve::TableSpec& table : spec.tables)
      for (int64_t b = 0; b < batch; ++b) raw.ids.push_back(Zipf(table.rows));
    return raw;
  }

 private:
  // Ranks by the continuous law x^-1.05, strewn over the table.
  int64_t Zipf(int64_t rows) {
    const double s = 1.05, n = static_cast<double>(rows) + 1;
    const double x = std::pow(1 + Uniform() * (std::pow(n, 1 - s) - 1), 1 / (1 - s));
    return (static_cast<int64_t>(x) - 1) * 2654435761 % rows;
  }
  struct SplitMix {
    double Next() {
      uint64_t z = (state += 0x9e3779b97f4a7c15);
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
    }
    uint64_t state = kSeed;
  } random_;
};

serve::PredictRequest RequestOf(Context& ctx, const serve::ServedModel& model,
                                const RawRequest& raw) {
  const auto bags = std::ssize(raw.ids);
  return {.dense = Tensor::From(ctx, {raw.batch, kDense}, raw.dense),
          .features = KeyedJaggedTensor({.keys = model.features(),
                                         .values = Tensor::From(ctx, raw.ids),
                                         .lengths = Tensor::Full(ctx, {bags}, 1, DType::kI64)})};
}

void PrintLine(const std::string& name, const cli::Latencies& latencies) {
  std::printf("%-28s p50 %8.1f us  p99 %8.1f us  p99.9 %8.1f us  p99/p50 %.1f  (%zu)\n",
              name.c_str(), 1e6 * latencies.Quantile(0.5), 1e6 * latencies.Quantile(0.99),
              1e6 * latencies.Quantile(0.999), latencies.Quantile(0.99) / latencies.Quantile(0.5),
              latencies.count());
}

// The dense part of the same batch alone.
cli::Latencies TimeDense(const serve::ModelSpec& spec, int64_t batch, int requests) {
  Context ctx({.threads = 1, .seed = kSeed});
  const auto dense = serve::MakeDensePart(ctx, spec);
  const Tensor x = Tensor::Zeros(ctx, {batch, kDense});
  const Tensor pooled = Tensor::Zeros(ctx, {batch, std::ssize(spec.tables) * spec.dim()});
  cli::Latencies latencies;
  for (int i = -100; i < requests; ++i) {
    const auto begin = Clock::now();
    dense->Forward(ctx, x, pooled);
    if (i >= 0) latencies.Add(Seconds(Clock::now() - begin));
  }
  return latencies;
}

cli::Latencies TimeClosed(serve::Predictor& predictor, int64_t batch, int requests) {
  Context ctx({.threads = 1});
  const auto model = predictor.model();
  Draws draws;
  std::vector<RawRequest> raw;
  for (int i = 0; i < 64; ++i) raw.push_back(draws.Request(model->spec(), batch));
  cli::Latencies latencies;
  for (int i = -100; i < requests; ++i) {
    const auto begin = Clock::now();
    predictor.Predict(RequestOf(ctx, *model, raw[static_cast<size_t>(i + 100) % raw.size()]));
    if (i >= 0) latencies.Add(Seconds(Clock::now() - begin));
  }
  return latencies;
}

int64_t ResidentBytes() {
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
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

// Waits for answers in the order of their requests, on a thread of its own. A latency is from when the
// request was due to when its answer was there.
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
  // After the last one.
  void Finish() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  void Print() const {
    for (const auto& [batch, latencies] : by_batch_) PrintLine(Format("  B{}", batch), latencies);
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
        by_batch_[next->batch].Add(Seconds(scored.answered - next->due));
      } catch (const Error&) {
        ++errors_;
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Pending> pending_;
  bool done_ = false;
  std::map<int64_t, cli::Latencies> by_batch_;  // of the thread alone, until it has ended
  int64_t errors_ = 0;
  std::thread thread_;
};

// Requests to draw from, by their sizes.
std::map<int64_t, std::vector<RawRequest>> DrawRequests(Draws& draws,
                                                        const serve::ModelSpec& spec) {
  std::map<int64_t, std::vector<RawRequest>> raw;
  for (const int64_t batch : {1, 16, 64})
    for (int i = 0; i < 32; ++i) raw[batch].push_back(draws.Request(spec, batch));
  return raw;
}

// Prints what memory is resident, `times` in `seconds`, from the first time asked on.
class ResidentLines {
 public:
  ResidentLines(int times, double seconds) : every_(seconds / times) {}
  void At(double second) {
    if (second < next_) return;
    std::printf("  after %5.0f s: %s resident\n", second, internal::Bytes(ResidentBytes()).c_str());
    next_ += every_;
  }

 private:
  const double every_;
  double next_ = every_;
};

// The number of errors.
int64_t RunOpenLoop(serve::Predictor& predictor, const OpenLoop& options) {
  const auto model = predictor.model();
  Draws draws;
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

void RunClosedLoops(serve::Predictor& predictor, const std::string& name,
                    const std::vector<int64_t>& batches, int requests) {
  for (const int64_t batch : batches) {
    PrintLine(Format("{}_B{}", name, batch), TimeClosed(predictor, batch, requests));
    PrintLine(Format("{}_B{} dense", name, batch),
              TimeDense(predictor.model()->spec(), batch, requests));
  }
}

int Main(int argc, char** argv) {
  CLI::App app("Latency of requests to a served DLRM");
  std::vector<int64_t> dims = {64}, batches = {1, 64};
  std::vector<std::string> codecs = {"int8"};
  int64_t cap = 100'000;
  int requests = 3000;
  OpenLoop open;
  double soak = 0;
  std::string folder;
  app.add_option("--dim", dims, "dims")->delimiter(',');
  app.add_option("--batch", batches, "examples of a request")->delimiter(',');
  app.add_option("--codec", codecs, "codecs of rows")->delimiter(',');
  app.add_option("--cap", cap, "most rows of a table");
  app.add_option("--requests", requests, "of a closed loop; 0: none");
  app.add_option("--open-loop", open.rate, "requests a second of the open loop; 0: none");
  app.add_option("--seconds", open.seconds, "of the open loop");
  app.add_option("--soak", soak, "seconds of an open loop, and nothing else");
  app.add_option("--workers", open.workers, "threads that compute in the open loop");
  app.add_option("--folder", folder, "where models are written, in a new folder that is removed");
  CLI11_PARSE(app, argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a line is seen when it is there, in a pipe, too
  std::printf("%s\n", MachineName().c_str());
  if (soak > 0) {
    dims.resize(1);
    codecs.resize(1);
    requests = 0;
    open.seconds = soak;
    open.resident_lines = 10;
  }
  int64_t errors = 0;
  const ScratchFolder scratch(folder);
  for (const int64_t dim : dims)
    for (const std::string& codec : codecs) {
      const std::string name = Format("D{}_{}", dim, codec);
      std::printf("making %s\n", name.c_str());
      serve::Predictor predictor(WriteModel(scratch.path(), dim, cap, codec));
      if (requests > 0) RunClosedLoops(predictor, name, batches, requests);
      if (open.rate > 0) errors += RunOpenLoop(predictor, open);
    }
  return errors == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("serve_bench", tessera::bench::Main, argc, argv);
}
