// Checks, runs or times one variant of bench/lab/cuda/variants on the GPU of this build: a real or
// an emulated one, or the interpreter of PTX. tools/lab_cuda runs it in all of them and puts a
// report together; without a name it lists the variants.
//
//   lab NAME [--dim 128 …]          checks it, bit by bit
//   lab NAME --count [--ours] […]   runs it (or the library's kernel) once, for who counts what it
//                                   asks of memory, and prints what it cannot do without
//   lab NAME --time […]             checks it, then times it beside the library's kernel
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/embedding/device_rounds.h"
#include "bench/harness/bench_main.h"
#include "bench/harness/sweep.h"
#include "bench/lab/cuda/cuda_variant.h"
#include "bench/lab/cuda/lab_case.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/device/device_properties.h"

namespace tessera::bench {
namespace {

const char* KindOf(const CudaVariant& variant) {
  // Defaults are all that a parameter's function sees: which kernel it is depends on none of them.
  PointValues values;
  for (const Axis& axis : variant.parameters) values.emplace_back(axis.name, axis.values[0]);
  const char* const kinds[] = {"no function", "lookup", "quantized lookup", "update"};
  return kinds[variant.At(Point("", values)).index()];
}

void ListVariants() {
  for (const CudaVariant& variant : CudaVariants()) {
    std::printf("%-20s %s: %s\n", variant.name.c_str(), KindOf(variant), variant.about.c_str());
    for (const Axis& axis : variant.parameters)
      std::printf("%-20s   --%s %s   %s\n", "", axis.name.c_str(), axis.values[0].c_str(),
                  axis.help.c_str());
  }
}

const CudaVariant& VariantOf(const std::string& name) {
  std::vector<std::string> names;
  for (const CudaVariant& variant : CudaVariants()) {
    if (variant.name == name) return variant;
    names.push_back(variant.name);
  }
  TESSERA_CHECK(!names.empty(),
                "this build has no kernels: build it with --config=emulated, ptx "
                "or cuda, as tools/lab_cuda does");
  std::sort(names.begin(), names.end());
  TESSERA_FAIL("variant {}: there are {}", name, ListOfNames(names));
}

struct Options {
  bool count = false, ours = false, time = false;
  int rounds = 15;
  int64_t flush_mib = 512;
};

void Count(Context& ctx, const CudaVariant& variant, const LabCase& own, const CudaKernel& kernel) {
  own.run(kernel);
  ctx.Sync();
  const nlohmann::json facts = {{"kind", KindOf(variant)}, {"least_bytes", own.least_bytes}};
  std::printf("%s\n", facts.dump().c_str());
}

void Time(Context& ctx, const Options& options, const std::string& name, const LabCase& own,
          const CudaKernel& kernel) {
  DeviceRounds rounds(ctx, options.rounds, options.flush_mib << 20);
  const std::vector<Timing> timings = rounds.Time({rounds.Copy(),
                                                   {"tessera", [&](int) { own.run(own.ours); }},
                                                   {name, [&](int) { own.run(kernel); }}});
  const double copy = rounds.copied_bytes() / timings[0].Median();
  std::printf("%s; cold, %d rounds; copy %.0f GB/s\n", PropertiesOf(ctx.device()).name.c_str(),
              options.rounds, 1e-9 * copy);
  for (size_t i = 1; i < timings.size(); ++i) {
    const Timing& t = timings[i];
    std::printf("  %-20s %9.3f ms (%.3f to %.3f)  %8.1f GB/s  %5.1f %% of copy\n", t.name.c_str(),
                1e3 * t.Median(), 1e3 * t.Quantile(0.1), 1e3 * t.Quantile(0.9),
                1e-9 * own.bytes / t.Median(), 100 * own.bytes / t.Median() / copy);
  }
}

void RunPoint(const Options& options, const CudaVariant& variant, const Point& point) {
  Context ctx({.device = Device::Cuda()});
  const LabCase own = MakeLabCase(ctx, variant, point);
  const CudaKernel kernel = options.ours ? own.ours : variant.At(point);
  if (options.count) return Count(ctx, variant, own, kernel);
  try {
    own.check(kernel);
  } catch (const std::exception& error) {
    throw Error(Format("variant {}: {}", variant.name, error.what()));
  }
  if (options.time) return Time(ctx, options, variant.name, own, kernel);
  std::printf("every bit of %s is right\n", variant.name.c_str());
}

int Main(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    ListVariants();
    return 0;
  }
  const CudaVariant& variant = VariantOf(argv[1]);
  Topic topic;
  topic.axes = LabCaseAxes();
  topic.axes.insert(topic.axes.end(), variant.parameters.begin(), variant.parameters.end());
  AxisValues values;
  Options options;
  CLI::App app(variant.about);
  for (const Axis& axis : topic.axes)
    app.add_option("--" + axis.name, values[axis.name], axis.help)->default_str(axis.values[0]);
  app.add_flag("--count", options.count, "run it once, unchecked, for who counts");
  app.add_flag("--ours", options.ours, "the library's kernel in its place");
  app.add_flag("--time", options.time, "time it beside the library's kernel");
  app.add_option("--rounds", options.rounds, "timed rounds")->capture_default_str();
  app.add_option("--flush-mib", options.flush_mib, "written before each timed call")
      ->capture_default_str();
  CLI11_PARSE(app, argc - 1, argv + 1);
  std::erase_if(values, [](const auto& value) { return value.second.empty(); });
  for (const Point& point : PointsOf(topic, "", values)) RunPoint(options, variant, point);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("lab", tessera::bench::Main, argc, argv);
}
