#include "train/checkpoint/export_checkpoint.h"

#include "train/checkpoint/checkpoint.h"

namespace tessera {

void ExportCheckpoint(ShardedCheckpoint& from, const std::string& path,
                      const ExportOptions& options) {
  StreamProgress watched(options.progress);
  StreamedSafetensors content;
  const auto add = [&](const std::string& name, StreamedTensor tensor) {
    if (!options.optimizer_state && IsRunState(name)) return;
    TESSERA_CHECK(content.tensors.emplace(name, watched.Watch(std::move(tensor))).second,
                  "{}: two tensors are called '{}'", from.folder(), name);
  };
  for (const CheckpointTable& table : from.info().tables) {
    const auto& [name, rows, dim] = table.shape;
    const Shard all{0, 0, 0, rows, dim};
    add(table.parameter, from.Stream(name, all, kWeightName));
    for (const StoredState& state : from.index().tables.at(name).states)
      add(OptimizerStateName(table.parameter, state.name), from.Stream(name, all, state.name));
  }
  for (const auto& [name, stored] : from.index().whole) add(name, from.StreamWhole(name));
  if (options.optimizer_state) content.metadata = from.info().metadata;
  content.metadata["format"] = "pt";
  const SafetensorsChecksum checksum = CheckpointChecksum();
  WriteSafetensors(path, content, &checksum);
}

}  // namespace tessera
