// Lookup and update of table-batched embeddings beside the bare memory loops of bare_loops.h, over
// the same ids, from cold caches, in one process:
//
//   bazel run -c opt //bench/embedding:embedding_bench -- --dim 128 --rows 1000000 --tables 8
//   --batch 4096 --pooling 20
//
// "share" is the median over rounds of bare seconds / our seconds. Results are checked once before
// anything is timed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/embedding/bare_loops.h"
#include "bench/harness/cold_rounds.h"
#include "embedding/lookup.h"
#include "embedding/update.h"
#include "runtime/random.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

struct Shape {
  int64_t tables = 8, rows = 1'000'000, dim = 128, batch = 4096, pooling = 20;
};

// Tables, ids and gradients of one shape, and the grouping that the bare update is given for free.
class Workload {
 public:
  static constexpr int kBatches = 4;

  Workload(Context& ctx, const Shape& shape) : shape_(shape) {
    for (int64_t t = 0; t < shape.tables; ++t) {
      tables_.push_back(Tensor::Empty(ctx, {shape.rows, shape.dim}));
      FillUniform(ctx, tables_.back(), -0.01f, 0.01f);
      states_.push_back(Tensor::Zeros(ctx, {shape.rows}));
      weight_pointers_.push_back(tables_.back().data<float>());
      state_pointers_.push_back(states_.back().data<float>());
    }
    output_ = Tensor::Zeros(ctx, {shape.batch, shape.tables * shape.dim});
    grad_ = Tensor::Full(ctx, output_.shape(), 1e-3);
    for (int64_t i = 0; i <= shape.tables * shape.batch; ++i) offsets_.push_back(i * shape.pooling);
    for (int k = 0; k < kBatches; ++k) AddBatch(ctx);
  }

  LookupArgs Lookup(int round, bool gradient) {
    const Tensor& target = gradient ? grad_ : output_;
    features_.clear();
    for (int64_t t = 0; t < shape_.tables; ++t)
      features_.push_back({.rows = weight_pointers_[static_cast<size_t>(t)],
                           .num_rows = shape_.rows,
                           .dim = shape_.dim,
                           .ids = {ids(round).data(), true},
                           .first_bag = t * shape_.batch,
                           .num_bags = shape_.batch,
                           .output = target.data<float>() + t * shape_.dim,
                           .output_stride = shape_.tables * shape_.dim});
    return {features_, {offsets_.data(), true}, nullptr, offsets_.back()};
  }

  std::vector<UpdateTable> Tables(const AnyRule& rule) {
    std::vector<UpdateTable> tables;
    for (int t = 0; t < static_cast<int>(shape_.tables); ++t)
      tables.push_back({weight_pointers_[static_cast<size_t>(t)],
                        shape_.rows,
                        shape_.dim,
                        {t},
                        &rule,
                        {state_pointers_[static_cast<size_t>(t)]}});
    return tables;
  }

  BareGather Gather(int round) const {
    return {weight_pointers_.data(), shape_.tables,   shape_.batch,         shape_.dim,
            ids(round).data(),       offsets_.data(), output_.data<float>()};
  }
  BareRowwiseAdagrad Adagrad(int round, int64_t ahead) const {
    const Grouping& g = groupings_[static_cast<size_t>(round % kBatches)];
    return {weight_pointers_.data(),
            state_pointers_.data(),
            shape_.tables,
            shape_.dim,
            g.unique.data(),
            g.table_start.data(),
            g.occurrence_start.data(),
            g.grad_rows.data(),
            grad_.data<float>(),
            ahead};
  }

  const Tensor& output() const { return output_; }
  double LookupBytes() const {
    return 4.0 *
           static_cast<double>(shape_.dim * shape_.tables * shape_.batch * (shape_.pooling + 1));
  }
  double UpdateBytes() const {
    return 8.0 * static_cast<double>(groupings_[0].unique.size()) *
               static_cast<double>(shape_.dim + 1) +
           4.0 * static_cast<double>(shape_.batch * shape_.tables * shape_.dim);
  }

 private:
  struct Grouping {
    std::vector<int64_t> unique, table_start{0}, occurrence_start{0};
    std::vector<int32_t> grad_rows;
  };
  const std::vector<int64_t>& ids(int round) const {
    return ids_[static_cast<size_t>(round % kBatches)];
  }

  void AddBatch(Context& ctx) {
    std::vector<int64_t> ids;
    Grouping g;
    const uint64_t sequence = ctx.random().TakeSequence();
    for (int64_t t = 0; t < shape_.tables; ++t) {
      std::vector<std::pair<int64_t, int32_t>> pairs;
      for (int64_t i = 0; i < shape_.batch * shape_.pooling; ++i) {
        const PhiloxBits bits = Philox(ctx.random().seed(), sequence, ids.size());
        ids.push_back(static_cast<int64_t>(bits.v[0] % static_cast<uint64_t>(shape_.rows)));
        pairs.emplace_back(ids.back(),
                           static_cast<int32_t>(i / shape_.pooling * shape_.tables + t));
      }
      std::stable_sort(pairs.begin(), pairs.end(),
                       [](auto& a, auto& b) { return a.first < b.first; });
      for (size_t i = 0; i < pairs.size(); ++i) {
        if (i == 0 || pairs[i].first != pairs[i - 1].first) {
          if (!g.grad_rows.empty())
            g.occurrence_start.push_back(static_cast<int64_t>(g.grad_rows.size()));
          g.unique.push_back(pairs[i].first);
        }
        g.grad_rows.push_back(pairs[i].second);
      }
      g.table_start.push_back(static_cast<int64_t>(g.unique.size()));
    }
    g.occurrence_start.push_back(static_cast<int64_t>(g.grad_rows.size()));
    ids_.push_back(std::move(ids));
    groupings_.push_back(std::move(g));
  }

  Shape shape_;
  std::vector<Tensor> tables_, states_;
  std::vector<float*> weight_pointers_, state_pointers_;
  Tensor output_, grad_;
  std::vector<int64_t> offsets_;
  std::vector<std::vector<int64_t>> ids_;
  std::vector<Grouping> groupings_;
  std::vector<LookupFeature> features_;
};

// Runs part 0 … parts − 1 of a bare loop on the context's threads.
template <typename Loop>
void RunBare(Context& ctx, const Loop& loop) {
  const int64_t parts = ctx.threads().threads();
  ParallelFor(ctx, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) loop.Run(p, parts);
  });
}

void CheckLookup(Context& ctx, Workload& work) {
  RunBare(ctx, work.Gather(0));
  const Tensor expected = work.output().Clone(ctx);
  Lookup(ctx, work.Lookup(0, false));
  const auto a = expected.span<float>(), b = work.output().span<float>();
  for (size_t i = 0; i < a.size(); ++i)
    TESSERA_CHECK(std::abs(a[i] - b[i]) < 1e-5f, "lookup: output {} is {}, the bare loop has {}", i,
                  b[i], a[i]);
}

// Fastest distance of the bare update's prefetch on this machine.
int64_t BestAhead(Context& ctx, Workload& work) {
  std::vector<Contender> contenders;
  const std::vector<int64_t> distances = {4, 8, 16, 32, 64};
  for (const int64_t ahead : distances)
    contenders.push_back({"", [&, ahead](int round) { RunBare(ctx, work.Adagrad(round, ahead)); }});
  const std::vector<Timing> timings = TimeCold(ctx, contenders, 3);
  size_t best = 0;
  for (size_t i = 1; i < timings.size(); ++i)
    if (timings[i].Median() < timings[best].Median()) best = i;
  return distances[best];
}

void Report(const Timing& bare, const Timing& ours, double bytes, nlohmann::json& json) {
  const double share = Share(bare, ours);
  std::printf("%-24s %9.2f %9.2f %9.2f %8.1f %7.1f%% %7.2fx\n", ours.name.c_str(),
              1e3 * ours.Median(), 1e3 * ours.Quantile(0.1), 1e3 * ours.Quantile(0.9),
              bytes / ours.Median() * 1e-9, 100 * share, 1 / share);
  json[ours.name] = {{"seconds", ours.Median()},      {"p10", ours.Quantile(0.1)},
                     {"p90", ours.Quantile(0.9)},     {"gbps", bytes / ours.Median() * 1e-9},
                     {"bare_seconds", bare.Median()}, {"share", share}};
}

int Main(int argc, char** argv) {
  Shape shape;
  int threads = 0, rounds = 15;
  std::string json_path;
  CLI::App app("Lookup and update beside the machine's bare loops, caches cold");
  app.add_option("--tables", shape.tables, "tables")->capture_default_str();
  app.add_option("--rows", shape.rows, "rows a table")->capture_default_str();
  app.add_option("--dim", shape.dim, "columns: 16, 32, 64, 128 or 256")
      ->check(CLI::IsMember({16, 32, 64, 128, 256}))
      ->capture_default_str();
  app.add_option("--batch", shape.batch, "bags a table")->capture_default_str();
  app.add_option("--pooling", shape.pooling, "ids a bag")->capture_default_str();
  app.add_option("--threads", threads, "threads (0: all cores)")->capture_default_str();
  app.add_option("--rounds", rounds, "timed rounds")->capture_default_str();
  app.add_option("--json", json_path, "also write the results to this file");
  CLI11_PARSE(app, argc, argv);

  Context ctx({.threads = threads, .seed = 5});
  Workload work(ctx, shape);
  CheckLookup(ctx, work);
  const int64_t ahead = BestAhead(ctx, work);
  const AnyRule rule = RowwiseAdagrad{.lr = 1e-3f};
  const std::vector<UpdateTable> tables = work.Tables(rule);

  const std::vector<Timing> t =
      TimeCold(ctx,
               {{"bare gather", [&](int round) { RunBare(ctx, work.Gather(round)); }},
                {"lookup", [&](int round) { Lookup(ctx, work.Lookup(round, false)); }},
                {"bare update", [&](int round) { RunBare(ctx, work.Adagrad(round, ahead)); }},
                {"rowwise_adagrad",
                 [&](int round) {
                   Update(ctx, {work.Lookup(round, true), tables, 1});
                 }}},
               rounds);

  std::printf(
      "%s; %d threads, %lld tables x %lld rows x %lld, batch %lld, %lld ids a bag, cold, %d "
      "rounds\n",
      MachineName().c_str(), ctx.threads().threads(), static_cast<long long>(shape.tables),
      static_cast<long long>(shape.rows), static_cast<long long>(shape.dim),
      static_cast<long long>(shape.batch), static_cast<long long>(shape.pooling), rounds);
  std::printf("%-24s %9s %9s %9s %8s %8s %8s\n", "", "ms", "p10", "p90", "GB/s", "of bare",
              "bare is");
  nlohmann::json json = {
      {"machine", MachineName()}, {"threads", ctx.threads().threads()}, {"rounds", rounds}};
  Report(t[0], t[0], work.LookupBytes(), json);
  Report(t[0], t[1], work.LookupBytes(), json);
  Report(t[2], t[2], work.UpdateBytes(), json);
  Report(t[2], t[3], work.UpdateBytes(), json);
  if (!json_path.empty()) std::ofstream(json_path) << json.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  try {
    return tessera::bench::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "embedding_bench: %s\n", error.what());
    return 1;
  }
}
