#include "sharding/checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "runtime/files/files.h"
#include "runtime/staging.h"
#include "sharding/checkpoint/started_part.h"
#include "sharding/checkpoint/state_rows.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// A process may have 1,024 files open, as a rule; a save may have more.
constexpr int kMaxOpenFiles = 256;

// The content of a file, for the message that it is missing.
std::string ContentOf(const CheckpointIndex& index, int file) {
  std::string first;
  int64_t more = -1;
  for (const auto& [name, table] : index.tables) {
    for (const StoredShard& stored : table.shards) {
      if (stored.file != file) continue;
      if (++more == 0) first = Format("table {}, {}", name, stored.shard);
    }
  }
  if (more < 0) return "no shard";
  return more == 0 ? first : Format("{}, and {} shards more", first, more);
}

const StoredState* StateNamed(const StoredTable& table, const std::string& name) {
  for (const StoredState& state : table.states)
    if (state.name == name) return &state;
  return nullptr;
}

std::string NamesOf(const StoredTable& table) {
  std::string names;
  for (const StoredState& s : table.states) names += (names.empty() ? "" : ", ") + s.name;
  return names.empty() ? "none" : names;
}

void CheckTensor(const Tensor& tensor, DType dtype, const Shape& shape, const std::string& table,
                 const std::string& what) {
  TESSERA_CHECK(tensor.defined(), "table {}: no tensor for {}", table, what);
  TESSERA_CHECK_EQ(tensor.dtype(), dtype, "table {}: {} of the checkpoint", table, what);
  TESSERA_CHECK_EQ(tensor.shape(), shape, "table {}: {} of the checkpoint", table, what);
  TESSERA_CHECK(tensor.is_contiguous(), "table {}: {}: expected it contiguous", table, what);
}

// Fills the rows in `runs` of one that is stored elsewhere, and all of one in memory.
void FillTensor(Context& ctx, RowReader& rows, const std::vector<RunOfRows>& runs,
                const NamedTensor& into) {
  if (into.stored)
    return ReadRuns(into, runs, [&](int64_t first, int64_t count, void* bytes) {
      rows.Read(first, count, bytes);
    });
  const Tensor& tensor = into.tensor;
  rows.ForEachBlock([&](int64_t first, int64_t count) {
    TESSERA_CHECK(count * rows.row_bytes() <= kPieceBytes || tensor.device() == Device::Cpu(),
                  "a row of {} bytes: expected at most {}", rows.row_bytes(), kPieceBytes);
    WritePieces(ctx, tensor.Rows(first, first + count),
                [&](void* bytes, int64_t) { rows.Read(first, count, bytes); });
  });
}

void MakeBytes(RowReader& rows, const std::vector<RunOfRows>& runs,
               const StreamedTensor::Sink& sink) {
  std::vector<char> bytes;
  rows.ForEachBlock(runs, [&](int64_t first, int64_t count) {
    bytes.resize(static_cast<size_t>(count * rows.row_bytes()));
    rows.Read(first, count, bytes.data());
    sink(bytes.data(), static_cast<int64_t>(bytes.size()));
  });
}

// The stream's tensor on ctx's device.
Tensor Made(Context& ctx, const StreamedTensor& stream) {
  const Tensor host = Tensor::EmptyHost(stream.shape, stream.dtype);
  char* to = static_cast<char*>(host.raw_data());
  stream.make([&](const void* bytes, int64_t count) {
    to = std::copy_n(static_cast<const char*>(bytes), count, to);
  });
  return host.To(ctx, ctx.device());
}

// Calls fn for all tensors of a shard.
template <typename Fn>
void ForEachTensor(const ShardTensors& part, Fn&& fn) {
  fn(part.Weights());
  for (const OptimizerState& state : part.states) fn(state);
}

std::vector<RunOfRows> AllRows(const Shard& shard) { return {{0, shard.rows}}; }

// The checksums of a tensor; "" for one that lies elsewhere.
std::string ChecksumsOf(const std::map<std::string, std::string>& checksums,
                        const std::string& tensor) {
  const auto found = checksums.find(tensor);
  return found == checksums.end() ? "" : found->second;
}

// The origin of a part's numbers per row, "" if they come from a column block of its own.
std::string OriginOfStatistics(const StoredTable& table, const Shard& part) {
  std::set<int64_t> blocks;  // by their offsets
  bool wider = false;
  for (const StoredShard& s : table.shards) {
    if (SharedRows(s.shard, part) <= 0 || SharedColumns(s.shard, part) <= 0) continue;
    blocks.insert(s.shard.column_offset);
    wider = wider || SharedColumns(s.shard, part) < s.shard.columns;
  }
  if (blocks.size() > 1)
    return Format("the mean, weighted by columns, of {} column blocks", blocks.size());
  return wider ? "a copy of what a wider column block had" : "";
}

}  // namespace

ShardedCheckpoint::ShardedCheckpoint(const std::string& folder) : folder_(folder) {
  while (!TryOpen(PathIn(folder, kIndexName))) {
  }
}

// Returns false where another save has taken the place of this one meanwhile, and its files.
bool ShardedCheckpoint::TryOpen(const std::string& path) {
  const std::string text = ReadTextFile(path);
  index_ = IndexFromJson(text, path);
  files_.assign(index_.files.size(), nullptr);
  try {
    CheckFiles();
  } catch (const Error&) {
    if (ReadTextFile(path) == text) throw;
    return false;
  }
  return true;
}

ShardedCheckpoint::ShardedCheckpoint(const std::string& path, CheckpointIndex index,
                                     std::map<std::string, StoredTensor> tensors)
    : folder_(path), index_(std::move(index)), elsewhere_(std::move(tensors)) {}

void ShardedCheckpoint::CheckFiles() const {
  for (size_t i = 0; i < index_.files.size(); ++i) {
    const auto& [name, bytes] = index_.files[i];
    std::error_code error;
    const uintmax_t found = fs::file_size(PathOfNamed(folder_, name), error);
    const auto content = [&] { return ContentOf(index_, static_cast<int>(i)); };
    if (error)
      throw Error(
          Format("{}: {} is missing ({}); it held {}", folder_, name, error.message(), content()));
    if (found != static_cast<uintmax_t>(bytes))
      throw Error(
          Format("{}: {} is truncated or not the file that was saved: expected {} bytes, "
                 "got {}; it held {}",
                 folder_, name, bytes, found, content()));
  }
}

const CheckpointTable& ShardedCheckpoint::table(const std::string& name) const {
  for (const CheckpointTable& table : index_.info.tables)
    if (table.shape.name == name) return table;
  throw Error(Format("{}: there is no table {}", folder_, name));
}

// A save that takes the place of this one removes its files: what is read may be gone by then.
std::shared_ptr<const SafetensorsFile> ShardedCheckpoint::OpenFile(const std::string& name) const {
  const std::string path = PathOfNamed(folder_, name);
  try {
    return std::make_shared<const SafetensorsFile>(path);
  } catch (const Error&) {
    if (fs::exists(path)) throw;
    throw Error(
        Format("{}: {} is gone since the checkpoint was opened: a newer save has probably taken "
               "its place while it was read; try again",
               folder_, name));
  }
}

std::shared_ptr<const SafetensorsFile> ShardedCheckpoint::File(int index) {
  auto& file = files_[static_cast<size_t>(index)];
  if (file == nullptr && ++opened_ > kMaxOpenFiles) {  // those in use stay open
    files_.assign(files_.size(), nullptr);
    opened_ = 1;
  }
  const std::string& name = index_.files[static_cast<size_t>(index)].name;
  if (file == nullptr) file = OpenFile(name);
  return file;
}

StoredTensor ShardedCheckpoint::Stored(int file, const std::string& name,
                                       const std::string& checksums) {
  if (!elsewhere_.empty()) {
    const auto found = elsewhere_.find(name);
    TESSERA_CHECK(found != elsewhere_.end(), "{}: there is no tensor {}", folder_, name);
    return found->second;
  }
  const auto opened = File(file);
  const std::string path = PathIn(folder_, index_.files[static_cast<size_t>(file)].name);
  const auto entry = opened->entries().find(name);
  if (entry == opened->entries().end()) throw Error(Format("{}: it lacks {}", path, name));
  const auto tensor = std::make_shared<CheckedTensor>(opened, entry->second, checksums,
                                                      Format("{}: {}", path, name));
  return {entry->second.dtype, entry->second.shape,
          [tensor](int64_t begin, int64_t count, void* out) { tensor->Read(begin, count, out); }};
}

StoredPart ShardedCheckpoint::PartOf(const std::string& table, const StoredShard& stored,
                                     const std::string& tensor) {
  const Shard& shard = stored.shard;
  const auto read =
      Stored(stored.file, StoredName(table, shard, tensor), ChecksumsOf(stored.checksums, tensor))
          .read;
  if (!stored.started) return {shard, read};
  const StoredTable& types = index_.tables.at(table);
  if (const StoredState* state = StateNamed(types, tensor))
    return StateOfAllRows(shard, *stored.started,
                          (state->per_row ? 1 : shard.columns) * SizeOf(state->dtype), read);
  return WeightsOfAllRows(shard, *stored.started, types.dtype, read);
}

std::optional<StartedRows> ShardedCheckpoint::Started(const std::string& table,
                                                      const Shard& part) const {
  std::optional<StartedRows> all;
  for (const StoredShard& stored : index_.tables.at(table).shards) {
    const Shard& shard = stored.shard;
    if (SharedRows(shard, part) <= 0 || SharedColumns(shard, part) <= 0) continue;
    if (!stored.started) return {};
    RowStart start = stored.started->start;
    start.first = part.row_offset * start.row_elements + part.column_offset;
    if (!all) all = StartedRows{start, {}};
    if (start != all->start) return {};
    const int64_t offset = shard.row_offset - part.row_offset;
    std::vector<RunOfRows> runs;
    for (const RunOfRows& run : stored.started->runs) {
      const RunOfRows here{std::max<int64_t>(0, run.begin + offset),
                           std::min(part.rows, run.end + offset)};
      if (here.size() > 0) runs.push_back(here);
    }
    all->runs = JoinedRuns(std::move(all->runs), runs);
  }
  return all;
}

// Rows that neither side has started begin alike, and need not be read.
std::vector<RunOfRows> ShardedCheckpoint::RunsToRead(const ShardTensors& into) const {
  const std::optional<StartedRows> saved = Started(into.table, into.shard);
  if (!saved || !into.started || saved->start != into.started->start) return AllRows(into.shard);
  return JoinedRuns(saved->runs, into.started->runs);
}

RowReader ShardedCheckpoint::Rows(const std::string& table, const Shard& part,
                                  const std::string& tensor) {
  const StoredTable& stored = index_.tables.at(table);
  const StoredState* state = StateNamed(stored, tensor);
  std::vector<StoredPart> parts;
  for (const StoredShard& of_part : stored.shards)
    if (SharedRows(of_part.shard, part) > 0 && SharedColumns(of_part.shard, part) > 0)
      parts.push_back(PartOf(table, of_part, tensor));
  return {part, state == nullptr ? stored.dtype : state->dtype, state != nullptr && state->per_row,
          std::move(parts)};
}

void ShardedCheckpoint::CheckInside(const std::string& name, const Shard& s) const {
  const TableShape& shape = table(name).shape;
  const bool inside = s.row_offset >= 0 && s.rows >= 0 && s.rows <= shape.rows - s.row_offset &&
                      s.column_offset >= 0 && s.columns > 0 &&
                      s.columns <= shape.dim - s.column_offset;
  TESSERA_CHECK(inside, "table {}: {}: the checkpoint's is [{}, {}]", name, s, shape.rows,
                shape.dim);
}

void ShardedCheckpoint::Check(const ShardTensors& into) const {
  CheckInside(into.table, into.shard);
  const Shard& s = into.shard;
  const StoredTable& stored = index_.tables.at(into.table);
  const Shape whole{s.rows, s.columns};
  CheckTensor(into.weights, stored.dtype, whole, into.table, kWeightName);
  for (const OptimizerState& given : into.states) {
    const StoredState* state = StateNamed(stored, given.name);
    TESSERA_CHECK(state != nullptr, "table {}: the checkpoint, of {}, has no state {}; it has {}",
                  into.table, table(into.table).rule, given.name, NamesOf(stored));
    CheckTensor(given.tensor, state->dtype, state->per_row ? Shape{s.rows} : whole, into.table,
                given.name);
  }
  TESSERA_CHECK(into.states.empty() || into.states.size() == stored.states.size(),
                "table {}: the checkpoint, of {}, has the states {}: got {} of them", into.table,
                table(into.table).rule, NamesOf(stored), into.states.size());
}

void ShardedCheckpoint::Read(Context& ctx, const ShardTensors& into) {
  Check(into);
  const std::vector<RunOfRows> runs = RunsToRead(into);
  ForEachTensor(into, [&](const NamedTensor& tensor) {
    RowReader rows = Rows(into.table, into.shard, tensor.name);
    FillTensor(ctx, rows, runs, tensor);
  });
}

void ShardedCheckpoint::Verify(const ShardTensors& into) {
  Check(into);
  const std::optional<StartedRows> started = Started(into.table, into.shard);
  const std::vector<RunOfRows> runs = started ? started->runs : AllRows(into.shard);
  ForEachTensor(into, [&](const NamedTensor& tensor) {
    RowReader rows = Rows(into.table, into.shard, tensor.name);
    MakeBytes(rows, runs, [](const void*, int64_t) {});
  });
}

StreamedTensor ShardedCheckpoint::Stream(const std::string& table, const Shard& part,
                                         const std::string& tensor,
                                         const std::optional<StartedRows>& started) {
  const StoredTable& stored = index_.tables.at(table);
  const StoredState* state = StateNamed(stored, tensor);
  const bool per_row = state != nullptr && state->per_row;
  const int64_t num_rows = started ? started->num_rows() : part.rows;
  return {state == nullptr ? stored.dtype : state->dtype,
          per_row ? Shape{num_rows} : Shape{num_rows, part.columns},
          [this, table, part, tensor,
           runs = started ? started->runs : AllRows(part)](const StreamedTensor::Sink& sink) {
            RowReader rows = Rows(table, part, tensor);
            MakeBytes(rows, runs, sink);
          }};
}

StoredTensor ShardedCheckpoint::Whole(const std::string& name) {
  const auto found = index_.whole.find(name);
  TESSERA_CHECK(found != index_.whole.end(), "{}: there is no tensor {}", folder_, name);
  return Stored(found->second.file, name, found->second.checksums);
}

StreamedTensor ShardedCheckpoint::StreamWhole(const std::string& name) {
  const StoredTensor tensor = Whole(name);
  return {tensor.dtype, tensor.shape, [tensor](const StreamedTensor::Sink& sink) {
            const int64_t all = tensor.shape.numel() * SizeOf(tensor.dtype);
            std::vector<char> bytes(static_cast<size_t>(std::min(all, kChecksumBytes)));
            for (int64_t at = 0; at < all; at += kChecksumBytes) {
              const int64_t count = std::min(kChecksumBytes, all - at);
              tensor.read(at, count, bytes.data());
              sink(bytes.data(), count);
            }
          }};
}

Tensor ShardedCheckpoint::ReadWhole(Context& ctx, const std::string& name) {
  return Made(ctx, StreamWhole(name));
}

Tensor ShardedCheckpoint::ReadPart(Context& ctx, const std::string& table, const Shard& part,
                                   const std::string& tensor) {
  CheckInside(table, part);
  return Made(ctx, Stream(table, part, tensor));
}

void LoadShards(Context& ctx, ShardedCheckpoint& checkpoint, std::span<const ShardTensors> into) {
  for (const ShardTensors& part : into) checkpoint.Check(part);
  for (const ShardTensors& part : into) checkpoint.Verify(part);
  for (const ShardTensors& part : into) checkpoint.Read(ctx, part);
}

std::vector<std::string> StatisticsChanged(const CheckpointIndex& index, const ShardingPlan& plan,
                                           const StatesOfTables& counts) {
  std::set<std::string> sentences;  // row blocks of one column block say the same
  for (const auto& [name, sharding] : plan.tables) {
    const StoredTable& stored = index.tables.at(name);
    for (const Shard& shard : sharding.shards) {
      const std::string origin = OriginOfStatistics(stored, shard);
      if (origin.empty()) continue;
      for (const StoredState& state : stored.states)
        if (state.per_row && !counts.contains({name, state.name}))
          sentences.insert(Format("table {}: {} of columns {} to {}: {}", name, state.name,
                                  shard.column_offset, shard.column_offset + shard.columns,
                                  origin));
    }
  }
  return {sentences.begin(), sentences.end()};
}

}  // namespace tessera
