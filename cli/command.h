#ifndef TESSERA_CLI_COMMAND_H_
#define TESSERA_CLI_COMMAND_H_
// The commands of `tessera`, one .cc file each; main.cc lists them.
#include "cli/command_line.h"

namespace tessera::cli {

// Each adds its command to `app`.
void AddTrainCommand(Command app);
void AddLaunchCommand(Command app);
void AddConfigCommand(Command app);
void AddDescribeCommand(Command app);
void AddGenerateCommand(Command app);
void AddPreprocessCommand(Command app);
void AddInspectCommand(Command app);
void AddReshardCommand(Command app);
void AddExportCommand(Command app);
void AddCompactCommand(Command app);
void AddCalibrateCommand(Command app);
void AddPlanCommand(Command app);
void AddQuantizeCommand(Command app);
void AddPredictCommand(Command app);
void AddEvaluateCommand(Command app);
void AddRecallCommand(Command app);
void AddRunsCommand(Command app);
void AddSweepCommand(Command app);
void AddServeCommand(Command app);
void AddRollbackCommand(Command app);
void AddBenchCommand(Command app);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_COMMAND_H_
