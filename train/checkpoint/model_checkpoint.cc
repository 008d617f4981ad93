#include "train/checkpoint/model_checkpoint.h"

#include <utility>
#include <vector>

namespace tessera {
namespace {

// The weights, and behind them the states that the optimizer has now.
std::vector<NamedTensor> WithStates(std::vector<NamedTensor> tensors,
                                    const OptimizerStateDict& states) {
  for (const auto& [parameter, by_name] : states)
    for (const auto& [name, tensor] : by_name)
      tensors.push_back({OptimizerStateName(parameter, name), tensor});
  return tensors;
}

// Takes numbers (step counters and the like) out: an optimizer's StateDict has copies of them, into
// which nothing can be read.
void EraseNumbers(OptimizerStateDict& states) {
  for (auto& [parameter, by_name] : states)
    std::erase_if(by_name, [](const auto& state) { return state.second.shape().rank() == 0; });
}

}  // namespace

void internal::AddOptimizerStates(const std::vector<NamedTensor>& tensors,
                                  OptimizerStateDict& states) {
  for (const NamedTensor& named : tensors) {
    const std::string parameter = ParameterOfState(named.name);
    if (parameter.empty())
      throw Error(Format("it has '{}', which this model does not have", named.name));
    const size_t prefix = OptimizerStateName(parameter, "").size();
    states[parameter][named.name.substr(prefix)] = named.tensor;
  }
}

void SaveCheckpoint(Context& ctx, const std::string& path, const std::vector<NamedTensor>& weights,
                    const Optimizer& optimizer, const TrainingProgress& progress) {
  TrainingProgress saved{.epoch = progress.epoch, .row = progress.row, .step = progress.step};
  saved.data = progress.data;
  saved.seed = ctx.random().seed();
  saved.random_next_sequence = ctx.random().next_sequence();
  WriteCheckpoint(ctx, path, WithStates(weights, optimizer.StateDict()), saved, "");
}

TrainingProgress LoadCheckpoint(Context& ctx, const std::string& path,
                                const std::vector<NamedTensor>& weights, Optimizer& optimizer) {
  const Checkpoint checkpoint = ReadCheckpoint(path);
  if (!checkpoint.progress)
    throw Error(
        Format("{}: it holds weights alone, without a training's progress; LoadWeights "
               "reads them",
               path));
  OptimizerStateDict states = optimizer.StateDict();
  EraseNumbers(states);
  if (!states.empty() && !checkpoint.has_optimizer_state())
    throw Error(Format("{}: it has no state of an optimizer, and '{}' of this model has some", path,
                       states.begin()->first));
  Restore(ctx, checkpoint, WithStates(weights, states), [&](const std::vector<NamedTensor>& rest) {
    internal::AddOptimizerStates(rest, states);
    optimizer.CheckStateDict(states);
  });
  optimizer.LoadStateDict(ctx, states);
  ctx.random() = Random(checkpoint.progress->seed, checkpoint.progress->random_next_sequence);
  return *checkpoint.progress;
}

void LoadWeights(Context& ctx, const std::string& path, const std::vector<NamedTensor>& weights) {
  Checkpoint checkpoint = ReadCheckpoint(path);
  std::erase_if(checkpoint.tensors,
                [](const CheckpointEntry& entry) { return IsRunState(entry.name); });
  Restore(ctx, checkpoint, weights);
}

}  // namespace tessera
