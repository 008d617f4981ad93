// Lookup and update on a GPU (or, with --device cpu, on the CPU): seconds, GB/s, and the share of
// what a plain copy in the same memory and process reaches; on a GPU beside a bare gather, which is
// what its memory allows a lookup. Caches are flushed before each timed call. The results of a
// small shape are compared with the CPU's, bit by bit, before anything is timed.
//
//   bazel run --config=cuda //bench/embedding:device_bench -- --dim 128 --rows 10000000 --zipf 1.05
//   --json OUT.json
//
// --probe runs one trivial kernel and checks what it wrote, to learn whether the device works.
// --suite runs the shapes whose targets are known: D = 128 uniform and Zipf 1.05, D = 16, 32 and
// 64, tables of f16, lookups of stored rows (f16, int8, int4), and steps of one example, also as a
// graph.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>

#include "bench/embedding/device_rounds.h"
#include "bench/embedding/device_workload.h"
#include "bench/harness/bench_main.h"
#include "runtime/device/device_properties.h"
#include "runtime/device/dispatch.h"
#include "runtime/flags/flags.h"
#include "runtime/graph.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

constexpr RowType kStored[] = {RowType::kF16, RowType::kInt8, RowType::kInt4};

bool TakesBareGather(const Context& ctx, const DeviceShape& shape) {
  return ctx.device() != Device::Cpu() && shape.dim % 4 == 0 && shape.row_type == DType::kF32;
}
void BareGather(Context& ctx, const DeviceWorkload& work, int round) {
  OnlyOnCuda(ctx.device(), [&](auto on) { RunBareGather(on, ctx, work.Gather(round)); });
}

// Leaves the outputs of batch 0, which the bare gather, where there is one, has given, too.
void CheckedLookup(Context& ctx, const DeviceShape& shape, DeviceWorkload& work) {
  Lookup(ctx, work.Lookup(0, false));
  if (!TakesBareGather(ctx, shape)) return;
  const Tensor expected = work.output().Clone(ctx);
  work.output().Fill(ctx, 0);
  BareGather(ctx, work, 0);
  TESSERA_CHECK(SameBits(expected, work.output()), "dim {}: the bare gather differs", shape.dim);
}

class DeviceBench {
 public:
  DeviceBench(Context& ctx, int rounds, int64_t flush_bytes)
      : ctx_(ctx), steps_(std::max(2, rounds * 20)), rounds_(ctx, rounds, flush_bytes) {}

  // Medians over rounds in which copy, gather, lookup and update alternate.
  nlohmann::json Run(const DeviceShape& shape) {
    DeviceWorkload work(ctx_, shape);
    CheckedLookup(ctx_, shape, work);
    const AnyRule rule = RowwiseAdagrad{.lr = 1e-3f};
    const std::vector<UpdateTable> tables = work.Tables(rule);
    std::vector<Contender> contenders = {
        rounds_.Copy(),
        {"lookup", [&](int round) { Lookup(ctx_, work.Lookup(round, false)); }},
        {"rowwise_adagrad", [&](int round) {
           Update(ctx_, {work.Lookup(round, true), tables, 1});
         }}};
    if (TakesBareGather(ctx_, shape))
      contenders.push_back({"bare_gather", [&](int round) { BareGather(ctx_, work, round); }});
    const std::vector<Timing> timings = rounds_.Time(contenders);
    nlohmann::json results = Heading(shape, ToString(shape.row_type), timings[0]);
    for (const Timing& t : std::span(timings).subspan(1)) {
      const bool is_update = t.name == "rowwise_adagrad";
      results[t.name] = Report(t, is_update ? work.UpdateBytes(0) : work.LookupBytes(), results);
      if (is_update) ReportTwiceTheLookup(2 * work.LookupBytes(), results);
      std::printf("\n");
    }
    return results;
  }

  // The lookup alone, of rows that are stored as `codec`.
  nlohmann::json RunStored(const DeviceShape& shape, const RowCodec& codec) {
    StoredWorkload work(ctx_, shape, codec);
    const std::vector<Timing> timings =
        rounds_.Time({rounds_.Copy(),
                      {"lookup", [&](int round) { QuantizedLookup(ctx_, work.Lookup(round)); }}});
    nlohmann::json results = Heading(shape, ToString(codec), timings[0]);
    results["lookup"] = Report(timings[1], work.LookupBytes(), results);
    std::printf("\n");
    return results;
  }

  // Microseconds of the wall for lookup and update of one example, many one after another; on a GPU
  // also where a graph repeats them.
  nlohmann::json RunOneExample(int64_t tables, int64_t dim) {
    DeviceWorkload work(ctx_,
                        {.tables = tables, .rows = 1000, .dim = dim, .batch = 1, .pooling = 1});
    const AnyRule rule = RowwiseAdagrad{.lr = 1e-3f};
    const std::vector<UpdateTable> updates = work.Tables(rule);
    const auto step = [&](int round) {
      Lookup(ctx_, work.Lookup(round, false));
      Update(ctx_, {work.Lookup(round, true), updates, 1});
    };
    nlohmann::json results = {
        {"tables", tables}, {"dim", dim}, {"batch", 1}, {"step_microseconds", MicrosOf(step)}};
    std::printf("\none example, %lld tables x %lld: lookup and update take %.1f us a step",
                static_cast<long long>(tables), static_cast<long long>(dim),
                results["step_microseconds"].get<double>());
    if (ctx_.device() != Device::Cpu()) {
      const CudaGraph graph = CudaGraph::Capture(ctx_, [&] { step(0); });
      results["graph_microseconds"] = MicrosOf([&](int) { graph.Launch(ctx_); });
      std::printf(", %.1f us as a graph", results["graph_microseconds"].get<double>());
    }
    std::printf("\n");
    return results;
  }

 private:
  double MicrosOf(const std::function<void(int)>& step) {
    const auto steps = [&](int of) {
      for (int i = 0; i < of; ++i) step(i);
    };
    steps(2);
    return 1e6 * WallSeconds(ctx_, [&] { steps(steps_); }) / steps_;
  }

  nlohmann::json Heading(const DeviceShape& shape, const std::string& rows, const Timing& copy) {
    const double copy_gbps = 1e-9 * rounds_.copied_bytes() / copy.Median();
    std::printf(
        "\n%lld tables x %lld rows x %lld of %s, batch %lld, %lld ids a bag, %s; copy %.0f GB/s\n",
        static_cast<long long>(shape.tables), static_cast<long long>(shape.rows),
        static_cast<long long>(shape.dim), rows.c_str(), static_cast<long long>(shape.batch),
        static_cast<long long>(shape.pooling),
        shape.zipf > 0 ? Format("Zipf {}", shape.zipf).c_str() : "uniform", copy_gbps);
    return {{"tables", shape.tables}, {"rows", shape.rows},    {"dim", shape.dim},
            {"stored_as", rows},      {"batch", shape.batch},  {"pooling", shape.pooling},
            {"zipf", shape.zipf},     {"copy_gbps", copy_gbps}};
  }

  // `bytes` must be moved.
  static nlohmann::json Report(const Timing& t, double bytes, const nlohmann::json& heading) {
    const double gbps = 1e-9 * bytes / t.Median(),
                 share = gbps / heading["copy_gbps"].get<double>();
    std::printf("  %-18s %9.3f ms (%.3f to %.3f)  %8.1f GB/s  %5.1f %% of copy", t.name.c_str(),
                1e3 * t.Median(), 1e3 * t.Quantile(0.1), 1e3 * t.Quantile(0.9), gbps, 100 * share);
    return {{"seconds", t.Median()},
            {"p10", t.Quantile(0.1)},
            {"p90", t.Quantile(0.9)},
            {"gbps", gbps},
            {"share_of_copy", share}};
  }

  // FBGEMM's count of an update's bytes.
  static void ReportTwiceTheLookup(double bytes, nlohmann::json& results) {
    nlohmann::json& update = results["rowwise_adagrad"];
    const double share =
        1e-9 * bytes / update["seconds"].get<double>() / results["copy_gbps"].get<double>();
    std::printf("; twice the lookup's bytes: %.1f %%", 100 * share);
    update["share_of_copy_by_twice_the_lookup"] = share;
  }

  Context& ctx_;
  int steps_;  // of one example, one after another
  DeviceRounds rounds_;
};

// Outputs and tables of a small shape after a lookup and an update.
std::vector<Tensor> SmallRun(Context& ctx, int64_t dim, DType row_type) {
  const DeviceShape shape = {
      .tables = 3, .rows = 50, .dim = dim, .batch = 16, .pooling = 5, .row_type = row_type};
  DeviceWorkload work(ctx, shape);
  const AnyRule rule = RowwiseAdagrad{};
  CheckedLookup(ctx, shape, work);
  Update(ctx, {work.Lookup(0, true), work.Tables(rule), 1});
  std::vector<Tensor> all = work.tables();
  all.push_back(work.output());
  return all;
}

// Pooled rows of a small shape that is stored as `codec`.
Tensor SmallStoredRun(Context& ctx, int64_t dim, const RowCodec& codec) {
  StoredWorkload work(ctx, {.tables = 3, .rows = 50, .dim = dim, .batch = 16, .pooling = 5}, codec);
  QuantizedLookup(ctx, work.Lookup(0));
  return work.output();
}

void CheckAgainstCpu(Device device, int64_t dim) {
  Context cpu({.seed = 5}), ctx({.device = device, .seed = 5});
  for (const DType row_type : {DType::kF32, DType::kF16}) {
    const auto expected = SmallRun(cpu, dim, row_type), got = SmallRun(ctx, dim, row_type);
    for (size_t i = 0; i < expected.size(); ++i)
      TESSERA_CHECK(SameBits(expected[i], got[i]), "dim {}, {}: tensor {} differs from the CPU's",
                    dim, ToString(row_type), i);
  }
  for (const RowType type : kStored)
    TESSERA_CHECK(SameBits(SmallStoredRun(cpu, dim, {type}), SmallStoredRun(ctx, dim, {type})),
                  "dim {}: a lookup of {} rows differs from the CPU's", dim, ToString({type}));
}

// Throws Error where the device does not do the simplest thing.
void Probe(const Device& device) {
  constexpr int64_t kNumbers = 1 << 20;
  Context ctx({.device = device});
  const std::vector<float> got = Tensor::Full(ctx, {kNumbers}, 3).ToVector<float>();
  const auto right = std::ranges::count(got, 3.0f);
  TESSERA_CHECK(right == kNumbers, "{} of {} numbers that a kernel wrote are right", right,
                kNumbers);
  std::printf("%lld numbers written and read\n", static_cast<long long>(kNumbers));
}

int Main(int argc, char** argv) {
  DeviceShape shape;
  int rounds = 15;
  int64_t flush_mib = 512;
  bool suite = false, probe = false, one_example = true;
  std::string device_name = "cuda", json_path;
  internal::ProgramFlags flags("Lookup and update on a device beside a plain copy, caches cold");
  flags.Add("--device", device_name, "cuda, cuda:<index> or cpu");
  flags.Add("--tables", shape.tables, "tables");
  flags.Add("--rows", shape.rows, "rows a table");
  flags.Add("--dim", shape.dim, "columns");
  flags.Add("--batch", shape.batch, "bags a table");
  flags.Add("--pooling", shape.pooling, "ids a bag");
  flags.Add("--zipf", shape.zipf, "exponent of a Zipf law of ids (0: uniform)");
  flags.Add("--rounds", rounds, "timed rounds");
  flags.Add("--flush-mib", flush_mib, "written before each call, and copied");
  flags.Add("--suite", suite, "all shapes with known targets; other shape options are not used");
  flags.Add("!--no-one-example", one_example, "leave out steps of one example");
  flags.Add("--probe", probe, "only run one trivial kernel, and check what it wrote");
  flags.Add("--json", json_path, "also write the results to this file");
  if (!flags.Parse(argc, argv)) return 0;

  const Device device = ParseDevice(device_name);
  if (probe) {
    Probe(device);
    return 0;
  }
  CheckAgainstCpu(device, shape.dim);
  Context ctx({.device = device, .seed = 5});
  const std::string name = device == Device::Cpu() ? MachineName() : PropertiesOf(device).name;
  std::printf("%s; cold, %d rounds\n", name.c_str(), rounds);
  nlohmann::json results = nlohmann::json::array();
  {
    DeviceBench bench(ctx, rounds, flush_mib << 20);
    if (!suite) {
      results.push_back(bench.Run(shape));
    } else {
      for (const double zipf : {0.0, 1.05}) results.push_back(bench.Run({.zipf = zipf}));
      for (const int64_t dim : {16, 32, 64}) results.push_back(bench.Run({.dim = dim}));
      results.push_back(bench.Run({.row_type = DType::kF16}));
      for (const RowType type : kStored) results.push_back(bench.RunStored({}, {type}));
    }
    if (one_example)
      for (const int64_t tables : {8, 26})
        results.push_back(bench.RunOneExample(tables, shape.dim));
  }
  if (!json_path.empty())
    std::ofstream(json_path)
        << nlohmann::json{{"device", name}, {"rounds", rounds}, {"results", results}}.dump(1)
        << "\n";
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("device_bench", tessera::bench::Main, argc, argv);
}
