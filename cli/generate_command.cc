// tessera generate: writes rows of a click model whose truth is known.
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/show/numbers.h"
#include "data/synthetic/criteo_file_writer.h"
#include "runtime/base/check.h"
#include "train/optimum.h"

namespace tessera::cli {
namespace {

constexpr char kDescription[] =
    "Write made-up clicks in the Criteo layout, and print the best AUC and log-loss that any model "
    "can reach on them.";
constexpr char kFooter[] =
    "\nExample:\n"
    "  tessera generate --rows 200000 clicks.tsv\n"
    "\n"
    "Row n depends on the options and n alone: with the same options, --first 200000 writes more "
    "rows of the same world.\n";

struct Flags {
  std::string path;
  int64_t rows = 100000, first = 0;
  ClickModelOptions model;
  bool overwrite = false;
};

int Generate(const Flags& flags) {
  Outputs outputs(flags.overwrite);
  outputs.AddFile(flags.path);
  const ClickModel model(flags.model);
  const RowRange rows{flags.first, flags.first + flags.rows};
  WriteCriteoFile(flags.path, model, rows);
  const MetricValues optimum = ComputeOptimum(model, rows);
  std::fputs(
      TextTable({{Format("{} rows in {}", WithCommas(static_cast<double>(flags.rows)), flags.path),
                  "best possible"},
                 {"AUC", Fixed(optimum.auc, 4)},
                 {"log-loss", Fixed(optimum.log_loss, 4)}})
          .c_str(),
      stdout);
  return 0;
}

}  // namespace

void AddGenerateCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("generate", kDescription);
  const auto f = std::make_shared<Flags>();
  const auto count = [](int64_t low) { return NumbersFrom(low, int64_t{1} << 50); };
  command->option_defaults()->always_capture_default();
  command->add_option("file", f->path, "File to write: plain, or gzip if its name ends in .gz")
      ->required()
      ->type_name("FILE");
  command->add_option("--rows", f->rows, "Number of rows")->check(count(1))->type_name("N");
  command->add_option("--first", f->first, "Number of the first row")
      ->check(count(0))
      ->type_name("N");
  command->add_option("--seed", f->model.seed, "Seed of the click model and its rows")
      ->type_name("N");
  command
      ->add_option("--vocabulary", f->model.vocabulary, "Number of values of the largest features")
      ->type_name("N");
  command->add_option("--zipf", f->model.zipf, "Exponent of the power law that ids follow")
      ->type_name("X");
  command->add_option("--click-rate", f->model.click_rate, "Fraction of rows that are clicks")
      ->type_name("X");
  command
      ->add_option("--missing-rate", f->model.missing_rate, "Fraction of values that are missing")
      ->type_name("X");
  command
      ->add_option(
          "--strength", f->model.strength,
          "Standard deviation of the logit: the larger, the better clicks can be predicted")
      ->type_name("X");
  AddOverwriteFlag(*command, f->overwrite);
  command->footer(kFooter);
  command->callback([f, &action] { action = [f] { return Generate(*f); }; });
}

}  // namespace tessera::cli
