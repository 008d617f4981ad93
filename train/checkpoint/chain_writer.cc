#include "train/checkpoint/chain_writer.h"

#include <filesystem>

#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "train/checkpoint/checkpoint_files.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

ChainPosition PositionAfter(const std::string& folder, const std::string& path, int64_t number,
                            bool base, const std::optional<ChainPosition>& before) {
  const int64_t bytes = static_cast<int64_t>(fs::file_size(path));
  ChainPosition position;
  if (!base) position = *before;
  position.folder = folder;
  position.number = number;
  position.identity = FileIdentity(SafetensorsFile(path).metadata());
  (base ? position.base_bytes : position.delta_bytes) += bytes;
  position.deltas += !base;
  return position;
}

}  // namespace

void CheckOptions(const IncrementalOptions& options) {
  TESSERA_CHECK_GE(options.max_deltas, 0, "incremental checkpoints: deltas of a base");
  TESSERA_CHECK(options.max_delta_share > 0,
                "incremental checkpoints: deltas of {} of the base's bytes; expected more than 0",
                options.max_delta_share);
  TESSERA_CHECK_GE(options.keep, 0, "incremental checkpoints: chains to keep");
}

void MakeChainFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) throw Error(Format("{}: cannot be made: {}", folder, error.message()));
  RemoveUnfinished(folder);
  SyncFolder(FolderOf(folder));
}

bool NextIsBase(const IncrementalOptions& options, const std::optional<ChainPosition>& position,
                int64_t delta_bytes) {
  if (!position) return true;
  const double share = options.max_delta_share * static_cast<double>(position->base_bytes);
  return position->deltas >= options.max_deltas ||
         static_cast<double>(position->delta_bytes + delta_bytes) > share;
}

// Removes a file that might not survive a loss of power: the next save gets its number.
ChainPosition WriteChainFile(Context& ctx, const std::string& folder, int64_t number, bool base,
                             const std::optional<ChainPosition>& position,
                             const ChainState& saved) {
  const std::string path = base ? BasePath(folder, number) : DeltaPath(folder, number);
  try {
    if (base)
      WriteCheckpoint(ctx, path, saved.state, saved.progress, saved.config);
    else
      WriteDelta(ctx, path, saved.state, saved.changed, saved.progress, saved.config, number,
                 position->identity);
    return PositionAfter(folder, path, number, base, position);
  } catch (...) {
    std::error_code ignored;
    fs::remove(path, ignored);
    throw;
  }
}

}  // namespace tessera
