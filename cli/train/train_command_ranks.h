#ifndef TESSERA_CLI_TRAIN_TRAIN_COMMAND_RANKS_H_
#define TESSERA_CLI_TRAIN_TRAIN_COMMAND_RANKS_H_
// Runs `tessera train` in this process alone, on ranks that are threads of it, or on ranks that
// mpirun has started as processes; plans them, and holds what they take against the memory that
// there is.
#include <functional>
#include <optional>
#include <string>

#include "cli/gpu_ranks.h"
#include "cli/train/flags/train_command_flags.h"
#include "comm/communicator.h"
#include "runtime/base/memory_limit.h"
#include "runtime/context.h"
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

// Calls fn, in which ranks do not wait for each other; what it throws on all ranks is said once.
// Every rank calls; without ranks `comm` is null.
void OnAllAlike(Communicator* comm, const std::function<void()>& fn);

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

// The host's memory with what the processes of its ranks take themselves: what this one has, what
// code and buffers of a training add to that, and threads.
MemoryThere WithRanksHere(MemoryThere there, const TrainFlags& flags, Context& ctx,
                          const TrainingPlace& place);

// The ranks and the plan that was asked for, the same on all, or none without `comm`, once there is
// memory for them: of the host, of which `host` was there before any rank began to fill its tables,
// and of this rank's GPU. Throws Error where there is not, and for a plan that does not fit. Every
// rank has measured before one goes on, as they exchange plans. Every rank calls.
std::optional<TrainingRanks> PlanRanks(Context& ctx, const TrainFlags& flags,
                                       const TrainConfig& config, const MemoryThere& host,
                                       const GpuRanks& gpus, Communicator* comm);

// The place of this rank's tables in the memory of its host. `ranks` outlives it.
TrainingPlace HostPlace(const Context& ctx, const std::optional<TrainingRanks>& ranks);

// Writes the plan where --save-plan says, on rank 0.
void SavePlan(const TrainFlags& flags, const TrainingRanks& ranks);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_TRAIN_COMMAND_RANKS_H_
