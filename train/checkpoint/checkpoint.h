#ifndef TESSERA_TRAIN_CHECKPOINT_CHECKPOINT_H_
#define TESSERA_TRAIN_CHECKPOINT_CHECKPOINT_H_
// A training run in one safetensors file.
//
//   <parameter>                      weights, under the names of the model's PyTorch state_dict
//   optimizer.<parameter>.<state>    what the optimizer remembers of it
//   metrics.<rank>.…                 what the metrics of the training remember
//   <table parameter minus "weight">_…   what managed collision knows of a table's ids
//   __metadata__                     strings: epoch, row, step, iter, max_counter (1 if absent),
//                                    max_counters (JSON, by table; absent if all are max_counter),
//                                    seed, random_next_sequence, config (JSON), data (absent if
//                                    unknown: data/files/data_identity.h), evaluation (absent
//                                    without evaluations: train/run/evaluation_schedule.h), groups
//                                    (absent without sharding groups), crc32 of all tensors' bytes
//                                    in order of names
//
// Tables are whole, whatever the training was. A leading "model." of a weight's name is dropped
// when a file is read. A file without any optimizer.* (as PyTorch writes one), or without progress,
// holds the model alone, from which optimizers start afresh.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/files/safetensors.h"
#include "runtime/named_parameter.h"
#include "runtime/tensor.h"

namespace tessera {

// Progress of a run.
struct TrainingProgress {
  int64_t epoch = 0;      // finished ones
  int64_t row = 0;        // the next one of the epoch under way
  int64_t step = 0;       // batches trained, over all epochs
  int64_t iter = 0;       // training forwards of the tables
  float max_counter = 1;  // TableBatchedEmbedding::max_counter, the largest of all tables
  std::map<std::string, float> max_counters = {};  // of tables that have another, by their names
  uint64_t seed = 0;
  uint64_t random_next_sequence = 0;
  std::string data = {};        // what `row` is a row of, as data_identity.h says it; "": unknown
  std::string evaluation = {};  // what evaluations have come to (evaluation_schedule.h); "": none
  std::string groups = {};      // sharding groups of its ranks (train/ranks.h); "": none

  float max_counter_of(const std::string& table) const {
    const auto own = max_counters.find(table);
    return own == max_counters.end() ? max_counter : own->second;
  }
  friend bool operator==(const TrainingProgress&, const TrainingProgress&) = default;
};

struct CheckpointEntry {
  std::string name;
  SafetensorsEntry tensor;
};

// Position of a checkpoint in a folder of incremental ones (checkpoint_chain.h): the last file of
// its chain.
struct ChainPosition {
  std::string folder;
  int64_t number = 0;
  std::string identity;  // of that file (delta_file.h)
  int64_t deltas = 0;    // of the chain
  int64_t base_bytes = 0, delta_bytes = 0;
};

// A saved training in any form (saved_form.h), found whole, before it meets a model. Tensors stay
// in it until they are asked for: a table is never in memory twice. One thread at a time.
struct Checkpoint {
  std::string path;
  std::shared_ptr<const SafetensorsFile> file;  // null for a folder
  std::optional<ChainPosition> chain;           // of a folder of incremental ones
  std::vector<CheckpointEntry> tensors;         // in the order of their names
  std::optional<TrainingProgress> progress;     // absent from files that hold weights alone
  std::string config;                           // "" where absent
  std::map<std::string, std::string> metadata;
  // Bytes [offset, offset + count) of a tensor. Throws Error if the file cannot be read.
  std::function<void(const CheckpointEntry&, int64_t offset, int64_t count, void* out)> read_bytes;

  // A tensor of `tensors` into `to`, on any device, a piece at a time. REQUIRES: the entry's dtype
  // and shape, contiguous; on a GPU, ctx is on it.
  void Read(Context& ctx, const CheckpointEntry& entry, const NamedTensor& to) const;
  Tensor Read(Context& ctx, const CheckpointEntry& entry) const;
  // Whether optimizer state is there.
  bool has_optimizer_state() const;
};

inline constexpr char kOptimizerPrefix[] = "optimizer.";

// "optimizer.<parameter>.<state>".
std::string OptimizerStateName(const std::string& parameter, const std::string& state);

// The parameter of such a name; "" for other names.
std::string ParameterOfState(const std::string& name);

// Whether a tensor of that name is what managed collision knows of ids: its last part begins with
// "_", as no parameter's does, and it is of no optimizer and no metric.
bool IsIdState(const std::string& name);

// Whether a tensor of that name is of the run, not of the model: "optimizer.…", "metrics.…" or
// IsIdState.
bool IsRunState(const std::string& name);

// Progress of a run, and its config, as a file's metadata.
std::map<std::string, std::string> CheckpointMetadata(const TrainingProgress& progress,
                                                      const std::string& config);
// The inverse; absent where metadata say nothing of it. Throws Error for numbers that are none.
std::optional<TrainingProgress> ParseProgress(const std::map<std::string, std::string>& metadata);

// Fills progress and config from the metadata. Throws Error for numbers that are none.
void TakeMetadata(Checkpoint& checkpoint);

// The checksum of the tensors' bytes that a file's metadata hold.
SafetensorsChecksum CheckpointChecksum();

// Throws Error if the tensors do not have the checksum that the metadata name, if they do.
void CheckIntact(const SafetensorsFile& file);

// Reads a file, a folder of incremental checkpoints, or one that ranks saved, whole or
// incrementally, whose tables it gives whole. Throws Error naming the file and the reason for one
// that is missing, truncated, corrupt, or has metadata that do not fit, and for what is no
// checkpoint.
Checkpoint ReadCheckpoint(const std::string& path);
// Reads a file alone.
Checkpoint ReadCheckpointFile(const std::string& path);

// Writes tensors of the host or of ctx's device beside `path` and renames. Throws Error when it
// can't; what was at `path` is then still there.
void WriteCheckpoint(Context& ctx, const std::string& path, const std::vector<NamedTensor>& state,
                     const TrainingProgress& progress, const std::string& config);

struct WriteWholeOptions {
  bool run_state = true;  // else the model alone: weights, and what is known of raw ids
  std::function<void(int64_t done, int64_t total)> progress = nullptr;  // in bytes
};

// Writes a checkpoint of any form as one file, byte for byte what WriteCheckpoint writes of the
// same state; a few megabytes at a time.
void WriteWhole(const Checkpoint& checkpoint, const std::string& path,
                const WriteWholeOptions& options = {});

// Reads the tensors into those of the same name in `state`, which must be all there are on either
// side: Throws Error naming missing or surplus names, or a shape or dtype that differs, and then
// has changed nothing. State of the run that `state` does not name is handed to `load_rest` first,
// if there is one, which takes it or throws and changes nothing. A checkpoint without optimizer
// state leaves that of `state` as it is.
//
// With `make_room`, `state` says names, types and shapes alone. It is called when nothing but
// reading can fail, and returns the same tensors with memory.
void Restore(Context& ctx, const Checkpoint& checkpoint, const std::vector<NamedTensor>& state,
             const std::function<void(const std::vector<NamedTensor>& rest)>& load_rest = nullptr,
             const std::function<std::vector<NamedTensor>()>& make_room = nullptr);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_CHECKPOINT_H_
