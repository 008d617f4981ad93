#include "tests/crossings/page.h"

#include <map>
#include <regex>
#include <vector>

#include "runtime/base/check.h"
#include "tests/crossings/tables_case.h"
#include "tests/crossings/tables_refusals.h"
#include "tests/crossings/training_refusals.h"
#include "tests/crossings/training_run.h"

namespace tessera::testing {
namespace {

constexpr char kIntroduction[] =
    R"(# What goes together

Each feature works beside each other one, or is refused before anything starts by a sentence that
names both. This page is written by `tools/docs` from what [tests/crossings](../tests/crossings)
runs: a point is one value of each axis, its result is compared with the plainest run that has the
same meaning (one process, tables in memory, a plain loop), bit by bit where [The
design](design/overview.md#same-bits-everywhere) promises bits. All pairs of values are run, then
random points (`tools/test --all`: 20,000 of tables, 2,000 of trainings).

Near, not equal, are: pooled rows of tables that are split over rows (sums of parts come in another
order) and updates of weighted MEAN of such tables, gradients of per-sample weights over ranks,
trainings on ranks beside one process, and scores of a served model, whose products are Tessera's
own, beside a training with the library's.
Distinct ids (`dedup_ids`) of tables with raw ids: the modules see each id of a rank's batch, or of
a node's, once, in rising order. A collection refuses a table that grows behind a cache; a training
configuration with growing raw ids and such a location makes a table there that has all its rows
from the start, with other start values than one that grows. On ranks growing tables have all their
rows, too, which take memory as they come into use; the plainest run has filled them at the start.

A save inside an epoch takes back the batch that the pipeline `semi_sync` has looked up ahead, and
looks it up anew, behind the update that it would have lacked. So `--checkpoint-every` changes what
that pipeline trains (training warns of it), and a run with saves is compared with one that saves at
the same steps.

A rule's name with a number (`adam_2`) is the same rule with other options. `custom` is a rule from
outside the library, `dense` the optimizer of the dense part.
)";

// The meaning of each axis by its name; both spaces share some of them.
const std::map<std::string, std::string>& Meanings() {
  static const std::map<std::string, std::string> meanings = {
      {"rule", "the optimizer of the tables"},
      {"rows", "the type of stored rows; by chance: stochastic rounding"},
      {"state", "the type of the rule's states"},
      {"pooling", "of bags; NONE: sequences"},
      {"batch",
       "weights of ids, with a gradient (learned) or without; a batch for each key (variable); "
       "no ids; one example"},
      {"keys", "whether two tables read one key of the batch"},
      {"bounds", "the bounds check's mode, of one table alone"},
      {"output", "the type of pooled rows"},
      {"start", "how rows start: at random in a range, or by a function"},
      {"location", "where rows lie"},
      {"ids", "row numbers, or raw ids that a module makes rows of"},
      {"remap", "an index remap, as of a pruned table"},
      {"sharding", "how tables are cut over ranks"},
      {"ranks", "how many"},
      {"groups",
       "sharding groups of so many ranks that each hold all tables, averaged in each step"},
      {"codec", "how rows and gradients travel"},
      {"dedup", "whether each id travels once a batch, for each rank or node (`dedup_ids`)"},
      {"pipeline", "how steps overlap"},
      {"control", "clamped gradients; a frozen table; learning rates that change"},
      {"accumulation", "how many micro-batches are one step"},
      {"evaluation",
       "after the epoch alone; also inside it, every two steps; the best model saved, too"},
      {"checkpoint", "saved and loaded halfway, under the same plan or another one"},
      {"after", "what is made of the trained tables"},
      {"model",
       "the model; two towers learn by in-batch softmax, corrected or not by how often an item "
       "comes "
       "(`sampling_correction`)"},
      {"products", "what multiplies matrices (`train.dense_products`)"},
      {"split", "which rows of files are for evaluation (`data.split`); by time: of a row folder"},
      {"kept",
       "how many checkpoints stay (`--keep-last`), where a run is resumed from an earlier one"},
      {"processor",
       "learned weights of ids by their positions in a bag; a sequence pooled by attention"},
      {"dense", "the optimizer of dense parameters"},
      {"clipping", "of dense gradients"},
      {"schedule", "of learning rates"},
      {"verify",
       "held against a record (`--verify`) of the same training; once more without a pipeline, or "
       "that of one process on one rank"}};
  return meanings;
}

// "a|b" as "a, b".
std::string Listed(const std::string& values) {
  return std::regex_replace(values, std::regex("\\|"), ", ");
}

void AddSpace(const std::string& title, const std::vector<Axis>& axes,
              const std::vector<Refusal>& refusals, std::string& page) {
  page += Format("\n## {}\n\n| axis | what it is | values |\n|---|---|---|\n", title);
  for (const Axis& axis : axes) {
    std::string values;
    for (const std::string& value : axis.values) values += (values.empty() ? "" : ", ") + value;
    page += Format("| {} | {} | {} |\n", axis.name, Meanings().at(axis.name), values);
  }
  page += "\nRefused:\n\n| feature | beside | the sentence has | because |\n|---|---|---|---|\n";
  for (const Refusal& r : refusals)
    page += Format("| {}: {} | {}: {} | {} | {} |\n", r.axis, Listed(r.values), r.other,
                   Listed(r.other_values), r.says, r.reason);
}

}  // namespace

std::string CrossingsPage() {
  std::string page = kIntroduction;
  AddSpace("Collections of tables", TablesAxes(), TablesRefusals(), page);
  AddSpace("Trainings", TrainingAxes(), TrainingRefusals(), page);
  return page;
}

}  // namespace tessera::testing
