#ifndef TESSERA_CLI_BENCH_BENCH_FILES_H_
#define TESSERA_CLI_BENCH_BENCH_FILES_H_
// The files of `tessera bench`: what a run is written to, and the run, or the program, that it is
// compared with.
#include <optional>
#include <string>

#include "bench/harness/compare.h"
#include "bench/harness/measurement.h"
#include "cli/command_line.h"

namespace tessera::cli {

struct BenchFiles {
  std::string json, gbench, csv, svg, compare;
  std::string against, json_against;  // of measuring alone
  std::string roofline, limits;       // of `show` alone

  // REQUIRES: this outlives the command's action. Returns the flag of `compare`, `against`.
  Flag AddTo(Command command);
  Flag AddAgainstTo(Command command);
  void AddRooflineTo(Command command);
  // Throws Error unless all that is to be written can be, said before the work. `shown`: a file
  // that the command reads beside `compare`.
  void CheckOutputs(const std::string& shown = "") const;
  // That of --compare, read before the work. Throws Error where it is none.
  std::optional<bench::BenchRun> OldRun() const;
  // Also says where. Nothing for a run without rows. The picture is of what changed since `old`,
  // which --json-against writes.
  void Write(const bench::BenchRun& run, const std::optional<bench::BenchRun>& old) const;

 private:
  std::string Roofline(const bench::BenchRun& run) const;
};

// Throws Error, with the file's name, where it is no data file of `tessera bench`.
bench::BenchRun ReadRun(const std::string& path);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_BENCH_BENCH_FILES_H_
