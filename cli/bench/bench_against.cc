#include "cli/bench/bench_against.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "bench/harness/compare.h"
#include "bench/harness/in_turn.h"
#include "bench/harness/passes.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/sweep.h"
#include "cli/bench/bench_files.h"
#include "cli/interrupt.h"
#include "cli/show/log.h"
#include "cli/sweep/processes.h"
#include "runtime/base/check.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestOnly = 64 << 10;  // bytes; the kernel takes twice as many in a word
constexpr size_t kOther = 0;               // the sides of bench/harness/in_turn.h

std::vector<std::string> LinesOf(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

// A program's last error with all of its lines; else how it ended, with its last line.
std::string Failure(const std::string& ended, const std::string& log) {
  const std::vector<std::string> lines = LinesOf(log);
  std::string error;
  for (const std::string& line : lines) {
    if (const std::optional<std::string> begin = ErrorOfLine(line))
      error = *begin;
    else if (!error.empty())
      error += "\n" + line;
  }
  if (!error.empty()) return error;
  return lines.empty() ? ended : Format("{}; its last line is: {}", ended, lines.back());
}

// Runs a program to its end; "" where all went well, else what went wrong.
std::string FailureOf(const ProcessStart& start) {
  std::string failure;
  fs::remove(start.log);
  RunProcesses({start}, 1, [&](size_t, const std::string& why) {
    if (!why.empty()) failure = Failure(why, start.log);
  });
  return failure;
}

void CheckProgram(const std::string& path) {
  std::error_code none;
  if (!fs::exists(path, none)) throw Error(Format("--against {}: there is no such file", path));
  if (fs::is_directory(path, none))
    throw Error(Format("--against {}: expected a program, got a folder", path));
  if (access(path.c_str(), X_OK) != 0)
    throw Error(Format("--against {}: expected a program, got a file that may not be run", path));
}

// A program takes the commit of the checkout that it runs in for its own, which only this one's is.
void ForgetCommit(bench::BenchRun& run) {
  for (auto& [name, value] : run.context)
    if (name == "commit") value = "unknown";
}

class Passes {
 public:
  explicit Passes(const AgainstRun& run) : run_(run), scratch_("") {}

  // Throws Error where the other program cannot list the run's cases.
  void CheckList() const {
    ProcessStart start = StartOf(kOther, 0, std::nullopt);
    start.words.push_back("--list");
    if (const std::string failure = FailureOf(start); !failure.empty())
      throw Error(
          Format("--against {}: it cannot list the cases of this run: {}", run_.binary, failure));
    const std::vector<std::string> lines = LinesOf(start.log);
    if (!Interrupted() && LinesOfCases().empty())
      throw Error(
          Format("--against {}: expected a tessera, whose bench {} --list prints names of "
                 "cases, got {}",
                 run_.binary, run_.topic, lines.empty() ? "nothing" : Format("'{}'", lines[0])));
  }

  // The lines of the last program that begin with the name of a case.
  std::vector<std::string> LinesOfCases() const {
    std::vector<std::string> lines = LinesOf(Log());
    std::erase_if(lines,
                  [&](const std::string& line) { return !line.starts_with(run_.topic + "/"); });
    return lines;
  }

  // A pass of bench::PassOf.
  std::optional<bench::BenchRun> Run(size_t side, int pass,
                                     const std::optional<bench::CaseNames>& cases) const {
    if (Interrupted()) return std::nullopt;
    const std::string who = Format("pass {} of {}", pass + 1, NameOf(side));
    fs::remove(DataFile());
    const std::string failure = FailureOf(StartOf(side, pass, cases));
    if (Interrupted()) return std::nullopt;
    if (!failure.empty()) throw Error(Format("{}: {}", who, failure));
    bench::BenchRun run = RunIn(who);
    if (side == kOther) ForgetCommit(run);
    return run;
  }

  std::string NameOf(size_t side) const { return side == kOther ? run_.binary : "this program"; }

 private:
  std::string Log() const { return scratch_.path() + "/output"; }
  std::string DataFile() const { return scratch_.path() + "/pass.json"; }

  ProcessStart StartOf(size_t side, int pass, const std::optional<bench::CaseNames>& cases) const {
    std::vector<std::string> words = {"bench", run_.topic};
    words.insert(words.end(), run_.words.begin(), run_.words.end());
    const int rounds = bench::RoundsOfPass(run_.rounds, run_.passes, pass);
    words.insert(words.end(), {"--rounds", std::to_string(rounds), "--json", DataFile()});
    if (run_.min_time > 0)
      words.insert(words.end(), {"--min-time", Format("{}", run_.min_time / run_.passes)});
    if (const std::string only = OnlyOf(cases); !only.empty()) words.push_back("--only=" + only);
    return {words, Log(), side == kOther ? run_.binary : ""};
  }

  std::string OnlyOf(const std::optional<bench::CaseNames>& cases) const {
    if (!cases) return run_.only;
    const std::string only = bench::OnlyThese(*cases);
    return only.size() > kLongestOnly ? run_.only : only;
  }

  bench::BenchRun RunIn(const std::string& who) const {
    try {
      bench::BenchRun pass = ReadRun(DataFile());
      if (pass.topic == run_.topic) return pass;
      throw Error(Format("expected results of topic '{}', got '{}'", run_.topic, pass.topic));
    } catch (const Error& error) {
      throw Error(Format("{} wrote no results that this program reads: {}", who, error.what()));
    }
  }

  const AgainstRun& run_;
  bench::ScratchFolder scratch_;
};

}  // namespace

void CheckAgainst(const AgainstRun& run) {
  if (run.passes < static_cast<int>(bench::kLeastPasses))
    throw Error(
        Format("--passes {} with --against: expected at least {}: fewer passes of each "
               "program cannot decide",
               run.passes, bench::kLeastPasses));
  if (run.rounds < run.passes)
    throw Error(Format("--rounds {} with --against: expected at least {}, one for each of --passes",
                       run.rounds, run.passes));
  CheckProgram(run.binary);
  Passes(run).CheckList();
}

void RunAgainst(const AgainstRun& run, const AgainstTold& told,
                std::vector<bench::BenchRun>& runs) {
  const Passes passes(run);
  const double first_part = run.precision > 0 ? 0.5 : 1;  // the share of the passes that all have
  int begun = 0;
  double over = 0;
  std::set<std::string> notes;
  const auto pass_of = [&](size_t side, int pass, const std::optional<bench::CaseNames>& cases) {
    const double closed =
        cases ? 1 - static_cast<double>(cases->size()) / static_cast<double>(run.cases) : 0;
    over = std::max(over, pass < run.passes ? first_part * begun / (2 * run.passes)
                                            : first_part + (1 - first_part) * closed);
    ++begun;
    told.progress(Format("pass {} of {}", pass + 1, passes.NameOf(side)), std::min(over, 1.0));
    std::optional<bench::BenchRun> done = passes.Run(side, pass, cases);
    for (const std::string& line : passes.LinesOfCases())
      if (notes.insert(line).second) told.note(line);
    return done;
  };
  runs.assign(2, {});
  bench::RunInTurn(run.passes, run.precision, pass_of, runs);
}

}  // namespace tessera::cli
