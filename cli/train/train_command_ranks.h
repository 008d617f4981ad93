#ifndef TESSERA_CLI_TRAIN_TRAIN_COMMAND_RANKS_H_
#define TESSERA_CLI_TRAIN_TRAIN_COMMAND_RANKS_H_
// Runs `tessera train` in this process alone, on ranks that are threads of it, or on ranks that
// mpirun has started as processes.
#include <functional>
#include <optional>
#include <string>

#include "cli/train/train_command_flags.h"
#include "comm/communicator.h"
#include "train/checkpoint/checkpoint.h"
#include "train/data_sets.h"
#include "train/ranks.h"
#include "train/training_memory.h"

namespace tessera::cli {

// Whether there are ranks, even one alone. Throws Error for --ranks under mpirun.
bool WithRanks(const TrainFlags& flags);

// Calls fn(communicator) on every rank, with nullptr where there are no ranks, and returns what it
// returned on rank 0 of threads, or on this process's rank.
int OnRanks(const TrainFlags& flags, const std::function<int(Communicator*)>& fn);

// The signal that stopped the ranks, one of which alone may have got it: the first rank's that has
// one. Every rank calls.
int SignalOfRanks(Communicator* comm, int mine);

// Threads of one rank: those that the user gave (by --threads or TESSERA_THREADS), or the machine
// has, divided by the ranks that share them.
int ThreadsOfRank(const TrainFlags& flags);

// Throws Error, on every rank, unless all were started alike. `resumed`: where --resume stands.
// Every rank calls.
void CheckRanksAgree(const TrainFlags& flags, Communicator& comm, const TrainConfig& config,
                     const DataSets& data, const std::optional<TrainingProgress>& resumed);

// The plan that was asked for, the same on all ranks. Throws Error for one that does not fit.
TrainingRanks MakeTrainingRanks(const TrainFlags& flags, Communicator& comm,
                                const TrainConfig& config);

// Writes the plan where --save-plan says, on rank 0.
void SavePlan(const TrainFlags& flags, const TrainingRanks& ranks);

// The ranks whose tables lie in the memory of this machine. `ranks` outlives it.
TrainingPlace PlaceOf(const TrainingRanks& ranks);

// "4 ranks (nccl): 2 tables row_wise, 1 table table_wise; embeddings and gradients as fp16".
std::string RanksLine(const TrainingRanks& ranks);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_TRAIN_COMMAND_RANKS_H_
