#include "tests/crossings/page.h"

#include <regex>
#include <vector>

#include "runtime/check.h"
#include "tests/crossings/tables_case.h"
#include "tests/crossings/tables_refusals.h"
#include "tests/crossings/training_refusals.h"
#include "tests/crossings/training_run.h"

namespace tessera::testing {
namespace {

constexpr char kIntroduction[] =
    R"(# What goes together

Each feature works beside each other one, or is refused before anything starts by a sentence that names both. This page is
written by `tools/docs` from what [tests/crossings](../tests/crossings) runs: a point is one value of each axis, its result is
compared with the plainest run that has the same meaning (one process, tables in memory, a plain loop), bit by bit where
[ARCHITECTURE.md](../ARCHITECTURE.md#same-bits-everywhere) promises bits. All pairs of values are run, then random points
(`tools/test --all`: 20,000 of tables, 2,000 of trainings).

Near, not equal, are: pooled rows of tables that are split over rows (sums of parts come in another order), gradients of
per-sample weights over ranks, and trainings on ranks beside one process. Distinct ids (`dedup_ids`) of tables with raw ids:
the modules see each id of a rank's batch once, in rising order. A table of growing raw ids behind a cache has all its rows
from the start, with other start values than one that grows.
)";

// "a|b" as "a, b".
std::string Listed(const std::string& values) {
  return std::regex_replace(values, std::regex("\\|"), ", ");
}

void AddSpace(const std::string& title, const std::vector<Axis>& axes,
              const std::vector<Refusal>& refusals, std::string& page) {
  page += Format("\n## {}\n\n| axis | values |\n|---|---|\n", title);
  for (const Axis& axis : axes) {
    std::string values;
    for (const std::string& value : axis.values) values += (values.empty() ? "" : ", ") + value;
    page += Format("| {} | {} |\n", axis.name, values);
  }
  page += "\nRefused:\n\n| feature | beside | because |\n|---|---|---|\n";
  for (const Refusal& r : refusals)
    page += Format("| {}: {} | {}: {} | {} |\n", r.axis, Listed(r.values), r.other,
                   Listed(r.other_values), r.reason);
}

}  // namespace

std::string CrossingsPage() {
  std::string page = kIntroduction;
  AddSpace("Collections of tables", TablesAxes(), TablesRefusals(), page);
  AddSpace("Trainings", TrainingAxes(), TrainingRefusals(), page);
  return page;
}

}  // namespace tessera::testing
