// The `tessera` command.
#include <cstdio>

#include "cli/command.h"
#include "cli/command_line.h"

namespace tessera::cli {
namespace {

constexpr char kDescription[] =
    "Tessera trains recommender models with large embedding tables.\n"
    "\n"
    "New here? These three lines train a small model on synthetic data, whose best possible "
    "result is known, and show what was saved:\n"
    "  tessera train --config examples/planted.json --checkpoint model.safetensors\n"
    "  tessera inspect model.safetensors\n"
    "  tessera train --help\n"
    "\n"
    "From a checkpoint to a service:\n"
    "  tessera quantize model.safetensors -o model --bits 8\n"
    "  tessera serve model\n"
    "\n"
    "On your own data (Criteo layout: label, 13 integers, 26 hexadecimal ids, separated by tabs; "
    "plain or .gz):\n"
    "  tessera train --config examples/criteo.json --data day_0.gz day_1.gz --eval day_2.gz \\\n"
    "    --checkpoint model.safetensors\n"
    "  tessera preprocess day_0.gz day_1.gz -o rows    (parsed once; then --data rows)\n";

constexpr char kFooter[] =
    "\nExit codes:\n"
    "  0    The command did what it was asked to.\n"
    "  1    Something was wrong: one sentence on standard error says what, and where.\n"
    "       A configuration gets a line for each of its keys that is wrong. With --log-format\n"
    "       json it is a line of JSON.\n"
    "  129  SIGHUP (its terminal was closed) ended it; tessera train has saved its checkpoint\n"
    "       before. Under nohup it goes on; tessera serve looks for new models instead.\n"
    "  130  Ctrl-C (SIGINT) ended it, likewise.\n"
    "  138  SIGUSR1 (mpirun passes it on to all ranks) ended it, likewise. tessera serve opens\n"
    "       its access log anew instead.\n"
    "  141  SIGPIPE (nobody reads its output any more, as after | head) ended it, likewise.\n"
    "  143  SIGTERM ended it, likewise. (tessera serve ends with 0 on Ctrl-C and SIGTERM.)\n"
    "--json, --metrics and -o write files, except that --json of inspect and calibrate is a switch "
    "and prints to standard output.\n";

void AddCommands(Command tessera) {
  AddTrainCommand(tessera);
  AddLaunchCommand(tessera);
  AddConfigCommand(tessera);
  AddDescribeCommand(tessera);
  AddGenerateCommand(tessera);
  AddPreprocessCommand(tessera);
  AddInspectCommand(tessera);
  AddReshardCommand(tessera);
  AddExportCommand(tessera);
  AddCompactCommand(tessera);
  AddCalibrateCommand(tessera);
  AddPlanCommand(tessera);
  AddQuantizeCommand(tessera);
  AddPredictCommand(tessera);
  AddEvaluateCommand(tessera);
  AddRunsCommand(tessera);
  AddSweepCommand(tessera);
  AddRecallCommand(tessera);
  AddServeCommand(tessera);
  AddRollbackCommand(tessera);
  AddBenchCommand(tessera);
}

}  // namespace
}  // namespace tessera::cli

int main(int argc, char** argv) {
  using namespace tessera::cli;
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // a reader of a pipe sees each line at once
  return RunCommandLine(argc, argv, kDescription, kFooter, AddCommands);
}
