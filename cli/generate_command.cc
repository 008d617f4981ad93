// tessera generate: writes rows of a click model whose truth is known.
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/show/log.h"
#include "cli/show/numbers.h"
#include "data/synthetic/criteo_file_writer.h"
#include "runtime/base/check.h"
#include "train/optimum.h"

namespace tessera::cli {
namespace {

constexpr char kGenerateDescription[] =
    "Write synthetic clicks in the Criteo layout, and print the best AUC and log-loss that any "
    "model can reach on them.";
constexpr char kGenerateFooter[] =
    "\n"
    "Example:\n"
    "  tessera generate --rows 200000 clicks.tsv\n"
    "\n"
    "Row n depends on the options and n alone: with the same options, --first 200000 writes more "
    "rows of the same click model.\n";

struct GenerateFlags {
  std::string path;
  int64_t rows = 100000, first = 0;
  ClickModelOptions model;
  bool overwrite = false;
};

int Generate(const GenerateFlags& flags) {
  Outputs outputs(flags.overwrite);
  outputs.AddFile(flags.path);
  const ClickModel model(flags.model);
  const RowRange rows{flags.first, flags.first + flags.rows};
  WriteCriteoFile(flags.path, model, rows);
  const MetricValues optimum = ComputeOptimum(model, rows);
  Note(TextTable({{Format("{} in {}", Counted(flags.rows, "row"), flags.path), "best possible"},
                  {"AUC", Fixed(optimum.auc, 4)},
                  {"log-loss", Fixed(optimum.log_loss, 4)}}),
       {{"path", flags.path},
        {"rows", flags.rows},
        {"auc", optimum.auc},
        {"log_loss", optimum.log_loss}});
  return 0;
}

}  // namespace

void AddGenerateCommand(Command app) {
  Command command = app.AddCommand("generate", kGenerateDescription);
  const auto f = std::make_shared<GenerateFlags>();
  const auto count = [](int64_t low) { return NumbersFrom(low, int64_t{1} << 50); };
  command.ShowDefaults();
  command.Add("file", f->path, "File to write: plain, or gzip if its name ends in .gz")
      .Required()
      .Value("FILE");
  command.Add("--rows", f->rows, "Number of rows").Within(count(1)).Value("N");
  command.Add("--first", f->first, "Number of the first row").Within(count(0)).Value("N");
  command.Add("--seed", f->model.seed, "Seed of the click model and its rows").Value("N");
  command.Add("--vocabulary", f->model.vocabulary, "Number of values of the largest features")
      .Value("N");
  command.Add("--zipf", f->model.zipf, "Exponent of the power law that ids follow").Value("X");
  command.Add("--click-rate", f->model.click_rate, "Fraction of rows that are clicks").Value("X");
  command.Add("--missing-rate", f->model.missing_rate, "Fraction of values that are missing")
      .Value("X");
  command
      .Add("--strength", f->model.strength,
           "Standard deviation of the logit: the larger, the better clicks can be predicted")
      .Value("X");
  AddOverwriteFlag(command, f->overwrite);
  command.Footer(kGenerateFooter);
  command.Run([f] { return Generate(*f); });
}

}  // namespace tessera::cli
