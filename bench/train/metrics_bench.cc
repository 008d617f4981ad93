// The cost of each metric beside a training step of the DLRM of examples/criteo.json at batch
// 2,048:
//
//   bazel run -c opt //bench/train:metrics_bench -- --config $PWD/examples/criteo.json
//
// update: one batch is added. compute: all values are read, over full windows. share: update, and
// compute every compute_interval_steps (100) steps, as a share of a step of the model in this
// process. All times are those of the fastest round.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <random>

#include "bench/harness/bench_main.h"
#include "bench/harness/cold_rounds.h"
#include "metrics/metric_registry.h"
#include "runtime/context.h"
#include "runtime/flags/flags.h"
#include "train/data_sets.h"
#include "train/trainer.h"

namespace tessera::bench {
namespace {

struct Options {
  std::string config = "examples/criteo.json";
  int64_t batch = 2048, window = 100'000, interval = 100, steps = 30;
  int threads = 2;
};

constexpr int64_t kClasses = 10, kSession = 8;

// Seconds of the fastest of `rounds` calls: others may use the machine too.
template <typename Fn>
double Time(int64_t rounds, Fn&& fn) {
  double fastest = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < rounds; ++i) fastest = std::min(fastest, SecondsOf(fn));
  return fastest;
}

// Rows of a planted click model; their numbers are what counts.
double StepSeconds(const Options& o) {
  TrainConfig config = ReadTrainConfig(o.config);
  config.batch_size = o.batch;
  config.data.format = DataFormat::kPlanted;
  config.data.rows = o.batch * (o.steps + 5);
  config.data.eval_rows = 0;
  config.data.planted.vocabulary = 100'000;
  Context ctx({.threads = o.threads, .seed = config.seed});
  Trainer trainer(ctx, config);
  const auto source = DataSets(config, {}).OpenTrain(0);
  std::vector<Batch> batches;
  while (auto batch = source->Next()) batches.push_back(std::move(*batch));
  size_t next = 0;
  for (int i = 0; i < 5; ++i) trainer.Step(batches.at(next++));
  return Time(o.steps, [&] { trainer.Step(batches.at(next++)); });
}

// One batch with everything that any metric asks for.
struct Columns {
  std::vector<float> p, y, w, scores, classes;
  std::vector<int64_t> sessions, groups, candidates;

  Columns(std::mt19937& random, int64_t n) {
    std::uniform_real_distribution<float> uniform(0.001f, 0.999f);
    for (int64_t i = 0; i < n; ++i) {
      p.push_back(uniform(random));
      y.push_back(uniform(random) < p.back() ? 1.0f : 0.0f);
      w.push_back(1 + uniform(random));
      for (int64_t c = 0; c < kClasses; ++c) scores.push_back(uniform(random));
      classes.push_back(static_cast<float>(random() % kClasses));
      sessions.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(n / kSession)));
      groups.push_back(static_cast<int64_t>(random() % 8));
      if (i % kSession == 0) candidates.push_back(std::min(kSession, n - i));
    }
  }
};

std::unique_ptr<RecMetric> Make(const MetricKind& kind, const Options& o) {
  MetricOptions options;
  options.number_of_classes = kClasses;
  options.num_groups = 8;
  options.top_threshold = 3;
  return kind.make(options, o.window, [] { return 0.0; });
}

void Run(const Options& o, const MetricKind& kind, double step) {
  std::mt19937 random(1);
  std::vector<Columns> columns;
  for (int i = 0; i < 8; ++i) columns.emplace_back(random, o.batch);
  const auto metric = Make(kind, o);
  size_t next = 0;
  const auto update = [&] {
    const Columns& c = columns[next++ % columns.size()];
    const std::vector<std::span<const float>> tensors(kind.needs == MetricNeeds::kTensors ? 2 : 1,
                                                      std::span<const float>(c.w));
    MetricBatch batch{.examples = {c.p, c.y, c.w},
                      .sessions = c.sessions,
                      .grouping_keys = c.groups,
                      .num_candidates = c.candidates,
                      .tensors = tensors};
    if (kind.name == "multiclass_recall") batch.examples = {c.scores, c.classes, c.w};
    metric->Update(batch);
  };
  const double update_seconds = Time(o.window / o.batch + 50, update);
  const double compute_seconds = Time(9, [&] { metric->Values(); });
  const double each_step = update_seconds + compute_seconds / static_cast<double>(o.interval);
  std::printf("%-26s %11.1f %12.1f %9.2f%%\n", kind.name.c_str(), 1e6 * update_seconds,
              1e6 * compute_seconds, 100 * each_step / step);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  Options o;
  internal::ProgramFlags flags("What metrics cost beside a training step");
  flags.Add("--config", o.config, "of the model");
  flags.Add("--batch", o.batch, "examples a step");
  flags.Add("--window", o.window, "examples in the windows");
  flags.Add("--interval", o.interval, "steps between two computations");
  flags.Add("--steps", o.steps, "timed steps of the model");
  flags.Add("--threads", o.threads, "of the training; metrics have one");
  if (!flags.Parse(argc, argv)) return 0;

  const double step = StepSeconds(o);
  std::printf("%s; %d threads, batch %lld: a step takes %.2f ms\n", MachineName().c_str(),
              o.threads, static_cast<long long>(o.batch), 1e3 * step);
  std::printf("%-26s %11s %12s %10s\n", "metric", "update us", "compute us", "of a step");
  for (const MetricKind& kind : AllMetricKinds()) Run(o, kind, step);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("metrics_bench", tessera::bench::Main, argc, argv);
}
