#include "train/checkpoint/whole_tables.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/staging.h"
#include "train/checkpoint/rank_chain.h"
#include "train/checkpoint/saved_form.h"

namespace tessera {
namespace {

using Tensors = std::map<std::string, StoredTensor>;

void AddRows(ShardedCheckpoint& from, const CheckpointTable& table, const std::string& tensor,
             const std::string& name, const std::optional<StoredState>& state, Tensors& tensors) {
  const Shard all{0, 0, 0, table.shape.rows, table.shape.dim};
  const DType dtype = state ? state->dtype : from.index().tables.at(table.shape.name).dtype;
  const Shape shape = state && state->per_row ? Shape{all.rows} : Shape{all.rows, all.columns};
  const auto rows = std::make_shared<RowReader>(from.Rows(table.shape.name, all, tensor));
  const auto read = [rows](int64_t begin, int64_t count, void* out) {
    rows->ReadBytes(begin, count, out);
  };
  TESSERA_CHECK(tensors.emplace(name, StoredTensor{dtype, shape, read}).second,
                "{}: two tensors are called '{}'", from.folder(), name);
}

// The tensors by their names in a checkpoint.
Tensors ListTensors(ShardedCheckpoint& from) {
  Tensors tensors;
  for (const CheckpointTable& table : from.info().tables) {
    AddRows(from, table, kWeightName, table.parameter, {}, tensors);
    for (const StoredState& state : from.index().tables.at(table.shape.name).states)
      AddRows(from, table, state.name, OptimizerStateName(table.parameter, state.name), state,
              tensors);
  }
  for (const auto& [name, stored] : from.index().whole)
    TESSERA_CHECK(tensors.emplace(name, from.Whole(name)).second, "{}: two tensors are called '{}'",
                  from.folder(), name);
  return tensors;
}

void ReadAll(const Checkpoint& checkpoint) {
  std::vector<char> bytes(static_cast<size_t>(kPieceBytes));
  for (const CheckpointEntry& entry : checkpoint.tensors)
    for (int64_t at = 0; at < entry.tensor.nbytes(); at += kPieceBytes)
      checkpoint.read_bytes(entry, at, std::min(kPieceBytes, entry.tensor.nbytes() - at),
                            bytes.data());
}

}  // namespace

Checkpoint WholeTables(ShardedCheckpoint& from) {
  const auto tensors = std::make_shared<const Tensors>(ListTensors(from));
  Checkpoint checkpoint;
  checkpoint.path = from.folder();
  checkpoint.metadata = from.info().metadata;
  for (const auto& [name, tensor] : *tensors)
    checkpoint.tensors.push_back({name, {tensor.dtype, tensor.shape}});
  checkpoint.read_bytes = [tensors](const CheckpointEntry& entry, int64_t offset, int64_t count,
                                    void* out) {
    tensors->at(entry.name).read(offset, count, out);
  };
  TakeMetadata(checkpoint);
  return checkpoint;
}

bool HasOptimizerState(const CheckpointIndex& index) {
  const std::string prefix = kOptimizerPrefix;
  const auto first = index.whole.lower_bound(prefix);
  return (first != index.whole.end() && first->first.starts_with(prefix)) ||
         std::any_of(index.tables.begin(), index.tables.end(),
                     [](const auto& table) { return !table.second.states.empty(); });
}

ShardedCheckpoint OpenFolderOfRanks(const std::string& folder) {
  return DetectForm(folder) == SavedForm::kRankChains ? OpenRankChain(folder)
                                                      : ShardedCheckpoint(folder);
}

Checkpoint ReadFolderOfRanks(const std::string& folder) {
  const auto from = std::make_shared<ShardedCheckpoint>(OpenFolderOfRanks(folder));
  Checkpoint checkpoint = WholeTables(*from);
  checkpoint.read_bytes = [from, read = std::move(checkpoint.read_bytes)](
                              const CheckpointEntry& entry, int64_t offset, int64_t count,
                              void* out) { read(entry, offset, count, out); };
  ReadAll(checkpoint);
  return checkpoint;
}

}  // namespace tessera
