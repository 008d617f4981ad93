#include "train/checkpoint/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "metrics/state/metric_state.h"
#include "runtime/base/checksums.h"
#include "runtime/base/joined.h"
#include "runtime/base/parse_number.h"
#include "runtime/json/json_reader.h"
#include "runtime/staging.h"
#include "sharding/checkpoint/state_rows.h"
#include "train/checkpoint/checkpoint_chain.h"
#include "train/checkpoint/delta_file.h"
#include "train/checkpoint/saved_form.h"
#include "train/checkpoint/whole_tables.h"

namespace tessera {
namespace {

constexpr std::string_view kModelPrefix = "model.";
constexpr char kCrc32[] = "crc32";
// Older files, which had no such field, lack it.
constexpr std::string_view kOptionalField = "max_counter";
constexpr char kData[] = "data", kEvaluation[] = "evaluation", kGroups[] = "groups",
               kMaxCounters[] = "max_counters";

bool IsOptimizerState(const std::string& name) { return name.starts_with(kOptimizerPrefix); }

// Names and fields of the metadata, once for reading and writing.
void VisitFields(auto& progress, auto&& visit) {
  visit("epoch", progress.epoch);
  visit("row", progress.row);
  visit("step", progress.step);
  visit("iter", progress.iter);
  visit("max_counter", progress.max_counter);
  visit("seed", progress.seed);
  visit("random_next_sequence", progress.random_next_sequence);
}

template <typename T>
std::string NumberText(T number) {
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), number);
  return {text, end};
}

template <typename T>
void ParseCount(const std::string& key, const std::string& text, T& out) {
  if (!ParseNumber(text, out) || text.starts_with('-'))
    throw Error(
        Format("metadata '{}': expected a number that is not negative, got '{}'", key, text));
}

std::map<std::string, float> ParseMaxCounters(const std::string& text) {
  std::map<std::string, float> counters;
  const internal::Json document = internal::ReadJsonText(text);
  for (const auto& [table, counter] : document.items()) {
    if (!document.is_object() || !counter.is_number() || !(counter.get<float>() > 0))
      throw Error(
          Format("metadata '{}': expected numbers above 0 by table, got {}", kMaxCounters, text));
    counters[table] = counter.get<float>();
  }
  return counters;
}

using Metadata = std::map<std::string, std::string>;

// Whether the tensors have the checksum that the metadata name, if they do.
bool IsIntact(const SafetensorsFile& file) {
  const auto expected = file.metadata().find(kCrc32);
  if (expected == file.metadata().end()) return true;
  uint32_t crc = 0;
  for (const auto& [name, entry] : file.entries())
    file.Visit(entry, [&](const void* bytes, int64_t count) { crc = Crc32(crc, bytes, count); });
  return expected->second == std::to_string(crc);
}

Checkpoint FromFile(const std::string& path, std::shared_ptr<const SafetensorsFile> file) {
  Checkpoint checkpoint{
      .path = path,
      .file = file,
      .chain = {},
      .tensors = {},
      .progress = {},
      .config = {},
      .metadata = file->metadata(),
      .read_bytes = [file](const CheckpointEntry& entry, int64_t offset, int64_t count, void* out) {
        file->ReadBytes(entry.tensor, offset, count, out);
      }};
  std::map<std::string, SafetensorsEntry> tensors;
  for (const auto& [name, entry] : file->entries()) {
    const std::string stripped =
        name.starts_with(kModelPrefix) ? name.substr(kModelPrefix.size()) : name;
    if (!tensors.emplace(stripped, entry).second)
      throw Error(Format("'{}' is there with and without a leading '{}'", stripped, kModelPrefix));
  }
  for (const auto& [name, entry] : tensors) checkpoint.tensors.push_back({name, entry});
  TakeMetadata(checkpoint);
  return checkpoint;
}

std::string Listed(const std::vector<std::string>& names) {
  return internal::JoinedFirst(names, 3, internal::InQuotes);
}

// One tensor of the model and its partner in the file.
struct Pair {
  NamedTensor to;
  SafetensorsEntry from;
};

struct Matched {
  std::vector<Pair> pairs;
  std::vector<CheckpointEntry> rest;  // of the file, without a partner
};

// Pairs tensors by name. Throws if the model has a tensor that the file lacks.
Matched MatchNames(const Checkpoint& checkpoint, const std::vector<NamedTensor>& state) {
  const bool weights_alone = !checkpoint.has_optimizer_state();
  std::map<std::string, SafetensorsEntry> given;
  for (const CheckpointEntry& entry : checkpoint.tensors) given.emplace(entry.name, entry.tensor);
  Matched matched;
  std::vector<std::string> missing;
  for (const NamedTensor& named : state) {
    if (weights_alone && IsOptimizerState(named.name)) continue;
    const auto found = given.find(named.name);
    if (found == given.end()) {
      missing.push_back(named.name);
      continue;
    }
    matched.pairs.push_back({named, found->second});
    given.erase(found);
  }
  if (!missing.empty()) throw Error(Format("it lacks {}, which this model has", Listed(missing)));
  for (const auto& [name, entry] : given) matched.rest.push_back({name, entry});
  return matched;
}

void CheckNoneSurplus(const std::vector<CheckpointEntry>& rest, bool takes_run_state) {
  std::vector<std::string> surplus;
  for (const CheckpointEntry& entry : rest)
    if (!takes_run_state || !IsRunState(entry.name)) surplus.push_back(entry.name);
  if (!surplus.empty())
    throw Error(Format("it has {}, which this model does not have", Listed(surplus)));
}

void CheckLike(const Pair& pair) {
  const auto& [named, from] = pair;
  const auto& [name, to, stored] = named;
  if (to.dtype() != from.dtype)
    throw Error(Format("'{}': expected {}, got {}", name, to.dtype(), from.dtype));
  if (!(to.shape() == from.shape))
    throw Error(Format("'{}': expected shape {}, got {}", name, to.shape(), from.shape));
}

// Replaces the pairs' tensors by those of the same names.
void Retarget(std::vector<Pair>& pairs, const std::vector<NamedTensor>& to) {
  std::map<std::string, NamedTensor> by_name;
  for (const NamedTensor& named : to) by_name.emplace(named.name, named);
  for (Pair& pair : pairs) pair.to = by_name.at(pair.to.name);
}

std::vector<NamedTensor> ReadAll(Context& ctx, const Checkpoint& checkpoint,
                                 const std::vector<CheckpointEntry>& entries) {
  std::vector<NamedTensor> tensors;
  for (const CheckpointEntry& entry : entries)
    tensors.push_back({entry.name, checkpoint.Read(ctx, entry)});
  return tensors;
}

}  // namespace

std::optional<TrainingProgress> ParseProgress(const Metadata& metadata) {
  TrainingProgress progress;
  std::string missing;
  int64_t found = 0;
  VisitFields(progress, [&](const char* key, auto& field) {
    const auto entry = metadata.find(key);
    if (entry == metadata.end()) {
      if (key != kOptionalField) missing = key;
      return;
    }
    ++found;
    ParseCount(key, entry->second, field);
  });
  if (found == 0) return std::nullopt;
  if (!missing.empty()) throw Error(Format("metadata '{}' is missing", missing));
  const auto read_text = [&](const char* key, std::string& field) {
    if (const auto found = metadata.find(key); found != metadata.end()) field = found->second;
  };
  read_text(kData, progress.data);
  read_text(kEvaluation, progress.evaluation);
  read_text(kGroups, progress.groups);
  std::string counters = "{}";
  read_text(kMaxCounters, counters);
  progress.max_counters = ParseMaxCounters(counters);
  return progress;
}

Metadata CheckpointMetadata(const TrainingProgress& progress, const std::string& config) {
  Metadata metadata = {{"format", "pt"}, {"config", config}};
  VisitFields(progress,
              [&](const char* key, const auto& field) { metadata[key] = NumberText(field); });
  if (!progress.data.empty()) metadata[kData] = progress.data;
  if (!progress.evaluation.empty()) metadata[kEvaluation] = progress.evaluation;
  if (!progress.groups.empty()) metadata[kGroups] = progress.groups;
  if (!progress.max_counters.empty())
    metadata[kMaxCounters] = internal::Json(progress.max_counters).dump();
  return metadata;
}

SafetensorsChecksum CheckpointChecksum() { return {kCrc32, Crc32}; }

bool Checkpoint::has_optimizer_state() const {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const CheckpointEntry& t) { return IsOptimizerState(t.name); });
}

std::string OptimizerStateName(const std::string& parameter, const std::string& state) {
  return Format("{}{}.{}", kOptimizerPrefix, parameter, state);
}

std::string ParameterOfState(const std::string& name) {
  const std::string prefix = kOptimizerPrefix;
  const size_t dot = name.rfind('.');
  if (!name.starts_with(prefix) || dot < prefix.size()) return "";
  return name.substr(prefix.size(), dot - prefix.size());
}

bool IsIdState(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot != std::string::npos && name.substr(dot + 1).starts_with('_') &&
         !IsOptimizerState(name) && !name.starts_with(kMetricsPrefix);
}

bool IsRunState(const std::string& name) {
  return IsOptimizerState(name) || name.starts_with(kMetricsPrefix) || IsIdState(name);
}

void TakeMetadata(Checkpoint& checkpoint) {
  checkpoint.progress = ParseProgress(checkpoint.metadata);
  const auto config = checkpoint.metadata.find("config");
  if (config != checkpoint.metadata.end()) checkpoint.config = config->second;
}

void CheckIntact(const SafetensorsFile& file) {
  if (!IsIntact(file))
    throw Error("it is corrupt: the tensors do not have the checksum that was written with them");
}

void Checkpoint::Read(Context& ctx, const CheckpointEntry& entry, const NamedTensor& to) const {
  TESSERA_CHECK_EQ(to.tensor.dtype(), entry.tensor.dtype, "{}: a tensor to read into", path);
  TESSERA_CHECK_EQ(to.tensor.shape(), entry.tensor.shape, "{}: a tensor to read into", path);
  ReadState(ctx, to, [&](int64_t offset, int64_t count, void* out) {
    read_bytes(entry, offset, count, out);
  });
}

Tensor Checkpoint::Read(Context& ctx, const CheckpointEntry& entry) const {
  Tensor tensor = Tensor::Empty(ctx, entry.tensor.shape, entry.tensor.dtype);
  Read(ctx, entry, {entry.name, tensor});
  return tensor;
}

Checkpoint ReadCheckpoint(const std::string& path) {
  const SavedForm form = DetectForm(path);
  switch (form) {
    case SavedForm::kFile:
      return ReadCheckpointFile(path);
    case SavedForm::kIncremental:
      return ReadChain(path);
    case SavedForm::kRanks:
    case SavedForm::kRankChains:
      return ReadFolderOfRanks(path);
    default:
      throw NoCheckpoint(path, form);
  }
}

Checkpoint ReadCheckpointFile(const std::string& path) {
  auto file = std::make_shared<const SafetensorsFile>(path);
  try {
    CheckIntact(*file);
    return FromFile(path, std::move(file));
  } catch (const Error& error) {
    throw Error(Format("{}: {}", path, error.what()));
  }
}

void WriteCheckpoint(Context& ctx, const std::string& path, const std::vector<NamedTensor>& state,
                     const TrainingProgress& progress, const std::string& config) {
  StreamedSafetensors content = StreamedStates(ctx, state);
  content.metadata = CheckpointMetadata(progress, config);
  const SafetensorsChecksum checksum = CheckpointChecksum();
  WriteSafetensors(path, content, &checksum);
}

void WriteWhole(const Checkpoint& checkpoint, const std::string& path,
                const WriteWholeOptions& options) {
  StreamedSafetensors content;
  int64_t done = 0, total = 0;
  for (const CheckpointEntry& entry : checkpoint.tensors) {
    if (!options.run_state && IsRunState(entry.name) && !IsIdState(entry.name)) continue;
    total += entry.tensor.nbytes();
    const auto make = [&, entry](const StreamedTensor::Sink& sink) {
      std::vector<char> piece(static_cast<size_t>(std::min(entry.tensor.nbytes(), kPieceBytes)));
      for (int64_t at = 0; at < entry.tensor.nbytes();) {
        const int64_t count = std::min(entry.tensor.nbytes() - at, kPieceBytes);
        checkpoint.read_bytes(entry, at, count, piece.data());
        sink(piece.data(), count);
        at += count;
        done += count;
        if (options.progress) options.progress(done, total);
      }
    };
    content.tensors.emplace(entry.name,
                            StreamedTensor{entry.tensor.dtype, entry.tensor.shape, make});
  }
  if (options.run_state) content.metadata = WithoutDelta(checkpoint.metadata);
  content.metadata["format"] = "pt";
  const SafetensorsChecksum checksum = CheckpointChecksum();
  WriteSafetensors(path, content, &checksum);
}

void Restore(Context& ctx, const Checkpoint& checkpoint, const std::vector<NamedTensor>& state,
             const std::function<void(const std::vector<NamedTensor>& rest)>& load_rest,
             const std::function<std::vector<NamedTensor>()>& make_room) {
  try {
    Matched matched = MatchNames(checkpoint, state);
    CheckNoneSurplus(matched.rest, load_rest != nullptr);
    for (const Pair& pair : matched.pairs) CheckLike(pair);
    if (load_rest) load_rest(ReadAll(ctx, checkpoint, matched.rest));
    if (make_room) Retarget(matched.pairs, make_room());
    for (const Pair& pair : matched.pairs) checkpoint.Read(ctx, {pair.to.name, pair.from}, pair.to);
  } catch (const Error& error) {
    throw Error(Format("{}: {}", checkpoint.path, error.what()));
  }
}

}  // namespace tessera
