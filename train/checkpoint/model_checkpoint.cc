#include "train/checkpoint/model_checkpoint.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sharding/checkpoint/state_rows.h"
#include "train/checkpoint/saved_form.h"

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

// A weight that the file lacks is said before a state that it lacks.
void CheckHasWeights(const Checkpoint& checkpoint, const std::vector<NamedTensor>& weights) {
  for (const NamedTensor& weight : weights) {
    const auto is_it = [&](const CheckpointEntry& entry) { return entry.name == weight.name; };
    if (std::none_of(checkpoint.tensors.begin(), checkpoint.tensors.end(), is_it))
      throw Error(Format("{}: it lacks '{}', which this model has", checkpoint.path, weight.name));
  }
}

// REQUIRES: no numbers are among the states.
void CheckHasStates(const Checkpoint& checkpoint, const OptimizerStateDict& states) {
  if (checkpoint.has_optimizer_state()) return;
  for (const auto& [parameter, by_name] : states)
    if (!by_name.empty())
      throw Error(Format("{}: it has no state of an optimizer, and '{}' of this model has some",
                         checkpoint.path, parameter));
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
  StreamedSafetensors content = StreamedStates(ctx, WithStates(weights, optimizer.StateDict()));
  content.metadata = CheckpointMetadata(saved, "");
  content.metadata[kSavedBy] = kSaveCheckpoint;
  const SafetensorsChecksum checksum = CheckpointChecksum();
  WriteSafetensors(path, content, &checksum);
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
  CheckHasWeights(checkpoint, weights);
  CheckHasStates(checkpoint, states);
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
