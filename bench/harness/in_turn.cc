#include "bench/harness/in_turn.h"

#include <algorithm>

#include "bench/harness/passes.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

bool IsSameRow(const Measurement& a, const Measurement& b) {
  return a.case_name == b.case_name && a.threads == b.threads && a.contender == b.contender &&
         a.cold == b.cold;
}

// Adds a pass of a program to those before.
void AddPass(BenchRun pass, BenchRun& run) {
  if (run.rows.empty()) {
    run = std::move(pass);
    return;
  }
  run.rounds += pass.rounds;
  for (Measurement& row : pass.rows) {
    const auto before = std::ranges::find_if(
        run.rows, [&](const Measurement& known) { return IsSameRow(known, row); });
    if (before == run.rows.end())
      run.rows.push_back(std::move(row));
    else
      before->AddPasses(row);
  }
}

// The cases of each program that want a further pass; all empty where none does.
std::vector<CaseNames> OpenCases(const std::vector<BenchRun>& runs, double precision) {
  std::vector<CaseNames> open(runs.size());
  const auto each_pair = [&](const auto& fn) {
    for (size_t side = 1; side < runs.size(); ++side)
      for (const auto& [first, other] : RowsOfBoth(runs[0], runs[side])) fn(*first, side, *other);
  };
  each_pair([&](const Measurement& first, size_t, const Measurement& other) {
    if (WantsPass(first, precision) || WantsPass(other, precision)) open[0].insert(first.case_name);
  });
  each_pair([&](const Measurement& first, size_t side, const Measurement& other) {
    if (open[0].contains(first.case_name)) open[side].insert(other.case_name);
  });
  return open;
}

class Turns {
 public:
  Turns(const PassOf& pass_of, std::vector<BenchRun>& runs) : pass_of_(pass_of), runs_(runs) {}

  // A pass of each program; cases: of each, empty for all. Whether all gave theirs.
  bool Run(int pass, const std::vector<CaseNames>& cases) {
    std::vector<std::optional<BenchRun>> passes(runs_.size());
    for (size_t i = 0; i < runs_.size(); ++i) {
      const size_t side = pass % 2 == 0 ? i : runs_.size() - 1 - i;
      passes[side] = cases.empty() || all_cases_ ? pass_of_(side, pass, std::nullopt)
                                                 : PassOfSome(side, pass, cases[side]);
      if (!passes[side]) return false;
    }
    for (size_t side = 0; side < runs_.size(); ++side)
      AddPass(std::move(*passes[side]), runs_[side]);
    return true;
  }

 private:
  std::optional<BenchRun> PassOfSome(size_t side, int pass, const CaseNames& cases) {
    try {
      return pass_of_(side, pass, cases);
    } catch (const Error&) {
      all_cases_ = true;
      return pass_of_(side, pass, std::nullopt);
    }
  }

  const PassOf& pass_of_;
  std::vector<BenchRun>& runs_;
  bool all_cases_ = false;  // as some were refused
};

}  // namespace

void RunInTurn(int passes, double precision, const PassOf& pass_of, std::vector<BenchRun>& runs) {
  TESSERA_CHECK(runs.size() >= 2, "programs are compared with each other");
  Turns turns(pass_of, runs);
  std::vector<CaseNames> open;  // at first all
  for (int pass = 0; pass < passes || !open[0].empty(); ++pass) {
    if (!turns.Run(pass, open)) return;
    if (pass + 1 >= passes) open = OpenCases(runs, precision);
  }
}

}  // namespace tessera::bench
