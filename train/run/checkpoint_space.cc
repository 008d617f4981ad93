#include "train/run/checkpoint_space.h"

#include <algorithm>
#include <map>
#include <variant>

#include "embedding/table/table_memory.h"
#include "embedding/table/table_start.h"
#include "models/embedding_model.h"
#include "models/ranking_net_size.h"
#include "optim/dense_state_names.h"
#include "runtime/base/check.h"
#include "runtime/base/memory_limit.h"
#include "train/model_config.h"

namespace tessera {
namespace {

constexpr double kFloat = 4;

// The bytes that come on one disk.
struct Room {
  DiskThere disk;
  double stays = 0;       // bytes that come on top of those there
  bool replaces = false;  // one is complete before another one goes
};

void Add(const SavedCheckpoints& saved, double bytes, Room& room) {
  double there = 0;
  for (const std::string& path : saved.there) there += BytesAt(path);
  const double stay = bytes * static_cast<double>(std::min(saved.kept, saved.saves));
  room.stays += std::max(0.0, stay - there);
  room.replaces = room.replaces || saved.saves > saved.kept || there > 0;
}

// Whether a checkpoint has rows of the table that are in use alone.
bool SavesRowsInUse(const EmbeddingBagConfig& table, const TrainConfig& config, RowsOfParts rows) {
  if (!table.growing) return false;
  return config.managed_collision.at(table.name).num_parts == 0 ||
         (rows == RowsOfParts::kInUse && internal::CanTakeRowsOnUse(table));
}

}  // namespace

double BytesOfCheckpoint(const TrainConfig& config, RowsOfParts rows) {
  const std::vector<EmbeddingBagConfig> tables = RankingModelConfigOf(config).tables;
  const double dense_copies =
      1 + static_cast<double>(CountStatesOfElements(config.dense_optimizer));
  const auto states_of = [&](const EmbeddingBagConfig& table) {
    if (!std::holds_alternative<Dense>(table.optimizer)) return 0.0;
    return static_cast<double>(table.num_embeddings) *
           static_cast<double>(DenseStateBytesARow(config.dense_optimizer, table.embedding_dim));
  };
  double bytes = 0;
  for (const EmbeddingBagConfig& table : tables) {
    if (SavesRowsInUse(table, config, rows)) continue;
    bytes += BytesOfRows(table, table.num_embeddings, table.embedding_dim) + states_of(table);
  }
  for (const EmbeddingBagConfig& table : tables)
    if (const auto ids = config.managed_collision.find(table.name);
        ids != config.managed_collision.end())
      bytes += static_cast<double>(BytesOfIdsAtStart(ids->second, table.num_embeddings));
  const RankingNetSize net = SizeOfRankingNet(config.model, PooledFeatures(tables, config.model));
  return bytes + net.parameters * kFloat * dense_copies + BytesOfSlots(config.model);
}

void CheckCheckpointSpace(const TrainConfig& config, const std::vector<SavedCheckpoints>& saved,
                          const std::function<DiskThere(const std::string&)>& disk_of,
                          RowsOfParts rows) {
  const double bytes = BytesOfCheckpoint(config, rows);
  std::map<uint64_t, Room> rooms;
  for (const SavedCheckpoints& of_path : saved) {
    const DiskThere disk = disk_of(of_path.path);
    Room& room = rooms.try_emplace(disk.device, Room{.disk = disk}).first->second;
    Add(of_path, bytes, room);
  }
  for (const auto& [device, room] : rooms) {
    const double needed = room.stays + (room.replaces ? bytes : 0);
    if (needed <= room.disk.free) continue;
    throw Error(
        Format("the checkpoints need {} more on the disk of {} (each takes about {}, and a new one "
               "is complete before an old one goes), but {} are free there",
               BytesText(needed), room.disk.folder, BytesText(bytes), BytesText(room.disk.free)));
  }
}

}  // namespace tessera
