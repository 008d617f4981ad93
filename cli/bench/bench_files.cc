#include "cli/bench/bench_files.h"

#include <cstdio>

#include "bench/files/google_benchmark_json.h"
#include "bench/files/measurement_csv.h"
#include "bench/files/measurement_json.h"
#include "bench/pictures/compare_svg.h"
#include "bench/pictures/roofline_svg.h"
#include "bench/pictures/sweep_svg.h"
#include "cli/outputs.h"
#include "cli/show/log.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"

namespace tessera::cli {

Flag BenchFiles::AddTo(Command command) {
  command.Add("--json", json, "Write the results, with all samples").Value("FILE");
  command
      .Add("--gbench", gbench,
           "Write the results in the layout of Google Benchmark, for its compare.py")
      .Value("FILE");
  command.Add("--csv", csv, "Write the results as a table").Value("FILE");
  command
      .Add("--svg", svg,
           "Draw the results: bars, or lines along the sweep's axis; with --compare or --against, "
           "the change of each row's speed with its interval")
      .Value("FILE");
  return command.Add("--compare", compare, "Say what changed since a file that --json wrote")
      .Value("FILE");
}

Flag BenchFiles::AddAgainstTo(Command command) {
  Flag flag =
      command
          .Add("--against", against,
               "Say what changed since another build, this program or another tessera: "
               "passes of both run in turn, each in a process of its own, so that a machine "
               "that drifts is no change of yours")
          .Value("BINARY");
  command.Add("--json-against", json_against, "Write the results of the program of --against")
      .Needs(flag)
      .Value("FILE");
  return flag;
}

void BenchFiles::AddRooflineTo(Command command) {
  command
      .Add("--roofline", roofline,
           "Draw rows as points under the machine's roofs: along x operations a byte, along y "
           "operations a second")
      .Needs(command
                 .Add("--limits", limits,
                      "With --roofline: a file of tessera bench limits --kind read,copy,fma "
                      "--json FILE, of the same threads")
                 .Value("FILE"))
      .Value("FILE");
}

void BenchFiles::CheckOutputs(const std::string& shown) const {
  Outputs outputs(/*overwrite=*/false, {compare, against, shown, limits});
  outputs.AddReport(json, kBenchRun);
  outputs.AddReport(json_against, kBenchRun);
  outputs.AddReport(gbench, kGoogleBenchmark);
  outputs.AddReport(csv, kBenchTable);
  outputs.AddReport(svg, kBenchPicture);
  outputs.AddReport(roofline, kBenchPicture);
}

std::optional<bench::BenchRun> BenchFiles::OldRun() const {
  if (compare.empty()) return std::nullopt;
  return ReadRun(compare);
}

std::string BenchFiles::Roofline(const bench::BenchRun& run) const {
  const bench::BenchRun roofs = ReadRun(limits);
  if (roofs.machine != run.machine)
    Warn(Format("{}: limits of another machine: {}, the run is of {}", limits, roofs.machine,
                run.machine));
  return bench::RooflineSvg(run, roofs);
}

void BenchFiles::Write(const bench::BenchRun& run,
                       const std::optional<bench::BenchRun>& old) const {
  if (run.rows.empty()) return;
  if (!json.empty()) ReplaceTextFile(json, bench::RunToJson(run));
  if (!json_against.empty()) ReplaceTextFile(json_against, bench::RunToJson(*old));
  if (!gbench.empty()) ReplaceTextFile(gbench, bench::RunToGoogleBenchmarkJson(run));
  if (!csv.empty()) ReplaceTextFile(csv, bench::RunToCsv(run));
  if (!svg.empty())
    ReplaceTextFile(svg, old ? bench::ComparisonSvg(*old, run) : bench::RunToSvg(run));
  if (!roofline.empty()) ReplaceTextFile(roofline, Roofline(run));
  for (const std::string& path : {json, json_against, gbench, csv, svg, roofline})
    if (!path.empty()) Note("written to " + path, {{"path", path}});
}

bench::BenchRun ReadRun(const std::string& path) {
  const std::string text = ReadTextFile(path);
  if (!text.starts_with('{'))
    throw Error(Format("{}: expected a data file that --json of tessera bench wrote", path));
  return bench::RunFromJson(text, path);
}

}  // namespace tessera::cli
