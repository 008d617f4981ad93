#include "cli/bench/bench_show.h"

#include <cstdio>
#include <memory>

#include "bench/harness/result_table.h"
#include "bench/pictures/histogram.h"
#include "cli/bench/bench_comparison.h"
#include "cli/bench/bench_files.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

struct Flags {
  std::string file;
  BenchFiles files;
  bool details = false, histogram = false;
  double allowed = kAnyChange;  // percent
};

void PrintRun(const bench::BenchRun& run, bool details) {
  std::vector<bench::Point> points;
  for (const bench::Measurement& row : run.rows)
    points.push_back(bench::Point(row.case_name, {{"threads", std::to_string(row.threads)}}));
  std::printf("%s: %s, %s; %s caches, %s rounds\n\n%s\n%s", run.topic.c_str(), run.machine.c_str(),
              run.date.c_str(), run.CachesText().c_str(), run.RoundsText().c_str(),
              bench::ResultTable(points, details).Lines(run.rows).c_str(),
              bench::ResultTable::Warnings(run.rows).c_str());
}

int Show(const Flags& flags) {
  const bench::BenchRun run = ReadRun(flags.file);
  const std::optional<bench::BenchRun> old = flags.files.OldRun();
  flags.files.CheckOutputs(flags.file);
  int code = 0;
  if (old)
    code = PrintComparison(bench::CompareRuns(*old, run), flags.allowed);
  else
    PrintRun(run, flags.details);
  if (flags.histogram)
    for (const bench::Measurement& row : run.rows)
      std::printf("\n%s", bench::HistogramText(row).c_str());
  flags.files.Write(run, old);
  return code;
}

}  // namespace

void AddBenchShow(Command bench) {
  Command command = bench.AddCommand("show", "Print, draw or compare a file that --json wrote");
  const auto f = std::make_shared<Flags>();
  command.Add("FILE", f->file, "The file").Required().Value("");
  command.Add("--details", f->details, "Print below each row its facts");
  command.Add("--histogram", f->histogram, "Draw how the samples of each row lie, as text");
  f->files.AddTo(command);
  f->files.AddRooflineTo(command);
  AddAllowTo(command, f->allowed).Needs("--compare");
  command.Run([f] { return Show(*f); });
}

}  // namespace tessera::cli
