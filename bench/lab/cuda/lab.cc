// Checks, runs or times one variant of bench/lab/cuda/variants on the GPU of this build: a real or
// an emulated one, or the interpreter of PTX. tools/lab_cuda runs it in all of them and puts a
// report together; without a name it lists the kinds of kernels, and the variants of each.
//
//   lab NAME [--dim 128 …]          checks it, bit by bit
//   lab NAME --count [--ours] […]   runs it (or the library's kernel) once, for who counts what it
//                                   asks of memory, and prints what it cannot do without
//   lab NAME --time […]             checks it, then times it beside the library's kernel
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
#include "bench/lab/kernel.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/context.h"
#include "runtime/device/device_properties.h"
#include "runtime/flags/flags.h"

namespace tessera::bench {
namespace {

void ListVariant(const CudaVariant& variant) {
  std::printf("  %-20s %s\n", variant.name.c_str(), variant.about.c_str());
  for (const Axis& axis : variant.parameters)
    std::printf("  %-20s   --%s %s   %s\n", "", axis.name.c_str(), axis.values[0].c_str(),
                axis.help.c_str());
}

void ListVariants() {
  for (const LabKind& kind : LabKinds()) {
    std::printf("%s\n", kind.name.c_str());
    for (const CudaVariant& variant : CudaVariants())
      if (&KindOf(variant) == &kind) ListVariant(variant);
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
  throw Error(Format("variant {}: there are {}", name, ListOfNames(names)));
}

struct Options {
  bool count = false, ours = false, time = false;
  int rounds = 15;
  int64_t flush_mib = 512;
};

void Count(Context& ctx, const LabKind& kind, const LabCase& own, const CudaKernel& kernel) {
  own.run(kernel);
  ctx.Sync();
  const nlohmann::json facts = {
      {"kind", kind.name}, {"least_bytes", own.least_bytes}, {"operations", own.operations}};
  std::printf("%s\n", facts.dump().c_str());
}

// "1.25 ms (1.24 to 1.26)  and what was reached": of memory's bandwidth, or of arithmetic.
void PrintTiming(const LabCase& own, const Timing& t, double copied_a_second) {
  std::printf("  %-20s %9.3f ms (%.3f to %.3f)  ", t.name.c_str(), 1e3 * t.Median(),
              1e3 * t.Quantile(0.1), 1e3 * t.Quantile(0.9));
  if (own.operations > 0)
    std::printf("%8.1f GFLOP/s\n", 1e-9 * own.operations / t.Median());
  else
    std::printf("%8.1f GB/s  %5.1f %% of copy\n", 1e-9 * own.bytes / t.Median(),
                100 * own.bytes / t.Median() / copied_a_second);
}

// "rows 1M, tables 8, batch 32768".
std::string SizesOf(const LabKind& kind, const Point& point) {
  std::vector<std::string> sizes;
  for (const auto& [axis, value] : kind.sizes_of_gpu)
    sizes.push_back(axis + " " + point.Text(axis));
  return internal::Joined(sizes);
}

// name: what it is called in the table.
void Time(Context& ctx, const Options& options, const std::string& name, const LabCase& own,
          const CudaKernel& kernel) {
  const auto before = [&](int) {
    if (own.before) own.before();
  };
  DeviceRounds rounds(ctx, options.rounds, options.flush_mib << 20);
  const std::vector<Timing> timings =
      rounds.Time({rounds.Copy(),
                   {"tessera", [&](int) { own.run(own.ours); }, before},
                   {name, [&](int) { own.run(kernel); }, before}});
  const double copied = rounds.copied_bytes() / timings[0].Median();
  std::printf("%s; cold, %d rounds; copy %.0f GB/s\n", PropertiesOf(ctx.device()).name.c_str(),
              options.rounds, 1e-9 * copied);
  for (size_t i = 1; i < timings.size(); ++i) PrintTiming(own, timings[i], copied);
}

// Returns what is true of the kernel's results. Throws Error, naming the variant, where they are
// wrong.
std::string Check(const CudaVariant& variant, const LabCase& own, const CudaKernel& kernel) {
  try {
    own.check(kernel, variant.other_sums);
  } catch (const std::exception& error) {
    throw Error(Format("variant {}: {}", variant.name, error.what()));
  }
  if (!variant.other_sums) return "every bit is right";
  return Format("every element is within {:.2g} of its terms' magnitudes", own.tolerance);
}

void RunPoint(const Options& options, const CudaVariant& variant, const Point& point) {
  Context ctx(LabContext());
  const LabCase own = MakeLabCase(ctx, variant, point);
  const CudaKernel kernel = options.ours ? own.ours : variant.At(point);
  if (options.count) return Count(ctx, KindOf(variant), own, kernel);
  const std::string right = Check(variant, own, kernel);
  if (!options.time) return static_cast<void>(std::printf("%s\n", right.c_str()));
  const std::string name =
      variant.other_sums ? NameWithTolerance(variant.name, own.tolerance) : variant.name;
  std::printf("%s\n", SizesOf(KindOf(variant), point).c_str());
  Time(ctx, options, name, own, kernel);
}

// Sizes that are not given are those of a GPU.
void TakeSizesOfGpu(const LabKind& kind, AxisValues& values) {
  for (const auto& [axis, value] : kind.sizes_of_gpu)
    if (values[axis].empty()) values[axis] = {value};
}

// "--rows, --tables": the flags that a variant reads.
std::string FlagsOf(const Topic& topic) {
  std::vector<std::string> flags;
  for (const Axis& axis : topic.axes) flags.push_back("--" + axis.name);
  return internal::Joined(flags);
}

int Main(int argc, char** argv) {
  CheckNamesDiffer(CudaVariants(), "kernels for a GPU");
  const std::string first = argc < 2 ? "" : argv[1];
  if (first.empty() || first == "--help" || first == "-h") {
    ListVariants();
    return 0;
  }
  if (first[0] == '-')
    throw Error(
        Format("{}: expected the name of a variant first; without arguments the program "
               "lists them",
               first));
  const CudaVariant& variant = VariantOf(argv[1]);
  Topic topic;
  topic.axes = KindOf(variant).axes;
  topic.axes.insert(topic.axes.end(), variant.parameters.begin(), variant.parameters.end());
  AxisValues values;
  Options options;
  internal::ProgramFlags flags(variant.about);
  for (const Axis& axis : topic.axes)
    flags.Add("--" + axis.name, values[axis.name], axis.help).ShowDefault(axis.values[0]);
  flags.Add("--count", options.count, "run it once, unchecked, for who counts");
  flags.Add("--ours", options.ours, "the library's kernel in its place");
  flags.Add("--time", options.time,
            "time it beside the library's kernel; sizes not given are those of a GPU");
  flags.Add("--rounds", options.rounds, "timed rounds");
  flags.Add("--flush-mib", options.flush_mib, "written before each timed call");
  if (!flags.Parse(argc - 1, argv + 1,
                   Format("variant {}, a {}; it reads {}", variant.name, KindOf(variant).name,
                          FlagsOf(topic))))
    return 0;
  if (options.time) TakeSizesOfGpu(KindOf(variant), values);
  std::erase_if(values, [](const auto& value) { return value.second.empty(); });
  for (const Point& point : PointsOf(topic, "", values)) RunPoint(options, variant, point);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::BenchMain("lab", tessera::bench::Main, argc, argv);
}
