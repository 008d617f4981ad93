#include "train/checkpoint/delta_file.h"

#include <algorithm>

#include "runtime/base/parse_number.h"
#include "sharding/checkpoint/state_rows.h"
#include "sparse/ops/row_runs.h"

namespace tessera {
namespace {

using Metadata = std::map<std::string, std::string>;

constexpr char kDeltaKeys[] = "delta.", kNumber[] = "delta.number", kPrevious[] = "delta.previous",
               kNumRows[] = "delta.num_rows.";

// The parameter that a tensor belongs to; a name that is no state's is a parameter.
std::string ParameterOf(const std::string& name) {
  const std::string of_state = ParameterOfState(name);
  return of_state.empty() ? name : of_state;
}

using RowsByParameter = std::map<std::string, const ChangedRows*>;

RowsByParameter ByParameter(const std::vector<ChangedRows>& changed) {
  RowsByParameter rows;
  for (const ChangedRows& table : changed) rows[table.parameter] = &table;
  return rows;
}

// The changed rows of a tensor; null if a delta holds it whole.
const ChangedRows* ChangedOf(const RowsByParameter& changed, const std::string& name) {
  const auto found = changed.find(ParameterOf(name));
  return found == changed.end() ? nullptr : found->second;
}

int64_t CountIn(const Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) throw Error(Format("metadata '{}' is missing", key));
  const std::string& text = found->second;
  int64_t count = -1;
  if (!ParseNumber(text, count) || count < 0)
    throw Error(Format("metadata '{}': expected a count, got '{}'", key, text));
  return count;
}

void CheckRising(const std::string& parameter, const DeltaFile::Table& table) {
  int64_t before = -1;
  for (const int64_t row : table.rows) {
    if (row <= before || row >= table.num_rows)
      throw Error(
          Format("'{}': row {} after row {} of {}", parameter, row, before, table.num_rows));
    before = row;
  }
}

void ReadTables(DeltaFile& delta) {
  Context ctx({.threads = 1});
  const std::string prefix = kDeltaRowsPrefix;
  for (const auto& [name, entry] : delta.file->entries()) {
    if (!name.starts_with(prefix)) continue;
    const std::string parameter = name.substr(prefix.size());
    if (entry.dtype != DType::kI64 || entry.shape.rank() != 1)
      throw Error(
          Format("'{}': expected [k] of i64, got {} of {}", name, entry.shape, entry.dtype));
    DeltaFile::Table& table = delta.tables[parameter];
    table.rows = delta.file->Read(ctx, entry).ToVector<int64_t>();
    table.num_rows = CountIn(delta.file->metadata(), kNumRows + parameter);
    CheckRising(parameter, table);
  }
  for (const auto& [name, entry] : delta.file->entries()) {
    const DeltaFile::Table* table = delta.TableOf(name);
    if (table == nullptr) continue;
    if (entry.shape.rank() == 0 || entry.shape[0] != std::ssize(table->rows))
      throw Error(
          Format("'{}': expected {} rows, got shape {}", name, table->rows.size(), entry.shape));
  }
}

void CheckFollows(const Metadata& metadata, int64_t number, const std::string& previous) {
  const int64_t found = CountIn(metadata, kNumber);
  if (found != number) throw Error(Format("expected delta number {}, got {}", number, found));
  const auto link = metadata.find(kPrevious);
  if (link == metadata.end() || link->second != previous)
    throw Error(
        Format("it does not follow file number {} that is there, but another of that number: the "
               "chain was mixed up from two runs",
               number - 1));
}

}  // namespace

std::string FileIdentity(const Metadata& metadata) {
  uint32_t crc = 0;
  const SafetensorsChecksum checksum = CheckpointChecksum();
  const auto add = [&](const std::string& text) {
    crc = checksum.update(crc, text.c_str(), std::ssize(text) + 1);
  };
  for (const auto& [key, value] : metadata) {
    add(key);
    add(value);
  }
  return std::to_string(crc);
}

int64_t DeltaBytes(const std::vector<NamedTensor>& state, const std::vector<ChangedRows>& changed) {
  const RowsByParameter by_parameter = ByParameter(changed);
  int64_t bytes = 0;
  for (const NamedTensor& named : state) {
    const ChangedRows* rows = ChangedOf(by_parameter, named.name);
    bytes += rows == nullptr ? named.tensor.nbytes()
                             : rows->rows.numel() * internal::RowBytes(named.tensor);
  }
  for (const ChangedRows& rows : changed) bytes += rows.rows.nbytes();
  return bytes;
}

void WriteDelta(Context& ctx, const std::string& path, const std::vector<NamedTensor>& state,
                const std::vector<ChangedRows>& changed, const TrainingProgress& progress,
                const std::string& config, int64_t number, const std::string& previous) {
  StreamedSafetensors content;
  content.metadata = CheckpointMetadata(progress, config);
  content.metadata[kNumber] = std::to_string(number);
  content.metadata[kPrevious] = previous;
  const auto add = [&](const std::string& name, StreamedTensor tensor) {
    TESSERA_CHECK(content.tensors.emplace(name, std::move(tensor)).second,
                  "checkpoint: two tensors are called '{}'", name);
  };
  const RowsByParameter by_parameter = ByParameter(changed);
  for (const NamedTensor& named : state) {
    const ChangedRows* rows = ChangedOf(by_parameter, named.name);
    add(named.name,
        rows == nullptr ? StreamedState(ctx, named) : StreamedRows(ctx, named, rows->rows));
    if (rows != nullptr && rows->parameter == named.name)
      content.metadata[kNumRows + named.name] = std::to_string(named.tensor.dim(0));
  }
  for (const ChangedRows& rows : changed) {
    TESSERA_CHECK(content.tensors.contains(rows.parameter),
                  "checkpoint: changed rows of '{}', which is not there", rows.parameter);
    add(kDeltaRowsPrefix + rows.parameter, Streamed(ctx, rows.rows));
  }
  const SafetensorsChecksum checksum = CheckpointChecksum();
  WriteSafetensors(path, content, &checksum);
}

const DeltaFile::Table* DeltaFile::TableOf(const std::string& name) const {
  const auto found = tables.find(ParameterOf(name));
  return found == tables.end() ? nullptr : &found->second;
}

DeltaFile ReadDelta(const std::string& path, int64_t number, const std::string& previous) {
  DeltaFile delta{.path = path,
                  .file = std::make_shared<const SafetensorsFile>(path),
                  .tables = {},
                  .identity = {}};
  try {
    CheckIntact(*delta.file);
    CheckFollows(delta.file->metadata(), number, previous);
    ReadTables(delta);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", path, error.what()));
  }
  delta.identity = FileIdentity(delta.file->metadata());
  return delta;
}

Metadata WithoutDelta(Metadata metadata) {
  std::erase_if(metadata, [](const auto& entry) {
    return entry.first.starts_with(kDeltaKeys) || entry.first == CheckpointChecksum().key;
  });
  return metadata;
}

}  // namespace tessera
