#include "serve/model_writer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>

#include "runtime/files.h"
#include "serve/dense_part.h"
#include "train/nn/ranking_model.h"

namespace tessera::serve {
namespace {

constexpr int64_t kBoundary = 64;

ModelSpec SpecOf(const TrainConfig& config, const WriteModelOptions& options) {
  ModelSpec spec;
  spec.net = config.model;
  spec.dense_type = options.dense_type;
  spec.missing = config.data.missing;
  for (const EmbeddingBagConfig& table : config.tables) {
    const auto own = options.table_codecs.find(table.name);
    spec.tables.push_back({.name = table.name,
                           .rows = table.num_embeddings,
                           .dim = table.embedding_dim,
                           .features = table.feature_names,
                           .pooling = table.pooling,
                           .codec = own == options.table_codecs.end() ? options.codec : own->second,
                           .default_row = options.default_row != DefaultRow::kNone});
  }
  return spec;
}

void CheckTableCodecs(const ModelSpec& spec, const WriteModelOptions& options) {
  std::set<std::string> there;
  std::string names;
  for (const TableSpec& table : spec.tables) {
    there.insert(table.name);
    names += (names.empty() ? "" : ", ") + table.name;
  }
  for (const auto& [name, codec] : options.table_codecs)
    if (there.count(name) == 0)
      throw Error(
          Format("codec {} of table {}: there is no such table; there are {}", codec, name, names));
}

const SafetensorsEntry& EntryOf(const Checkpoint& checkpoint, const std::string& name) {
  for (const CheckpointEntry& entry : checkpoint.tensors)
    if (entry.name == name) return entry.tensor;
  throw Error(Format("{}: {} is missing", checkpoint.path, name));
}

// A checkpoint drops a leading "model." of names.
const std::string& NameInFile(const Checkpoint& checkpoint, const SafetensorsEntry& tensor) {
  for (const auto& [name, entry] : checkpoint.file->entries())
    if (entry.begin == tensor.begin && entry.nbytes() > 0) return name;
  throw Error(Format("{}: a table without rows", checkpoint.path));
}

bool TakesSearch(const RowCodec& codec) {
  constexpr RowType kTypes[] = {RowType::kInt8,     RowType::kInt4,     RowType::kInt2,
                                RowType::kInt8Tail, RowType::kInt4Tail, RowType::kInt2Tail};
  return std::find(std::begin(kTypes), std::end(kTypes), codec.type) != std::end(kTypes);
}

QuantizeOptions OptionsFor(const RowCodec& codec, QuantizeOptions options) {
  options.encode.search = options.encode.search && TakesSearch(codec);
  if (options.nan == NanPolicy::kError) options.nan = NanPolicy::kChecked;  // in all tables, before
  return options;
}

// Adds what is read to sums of columns; a NaN counts as 0.
RowSource Summing(const RowSource& source, std::vector<double>& sums) {
  RowSource summing = source;
  summing.read = [read = source.read, &sums](Context& ctx, int64_t begin, int64_t end) {
    Tensor rows = read(ctx, begin, end);
    const float* row = rows.data<float>();
    for (int64_t r = begin; r < end; ++r)
      for (double& sum : sums) {
        sum += std::isnan(*row) ? 0 : static_cast<double>(*row);
        ++row;
      }
    return rows;
  };
  return summing;
}

Tensor Mean(Context& ctx, const std::vector<double>& sums, int64_t rows) {
  std::vector<float> mean;
  for (const double sum : sums) mean.push_back(static_cast<float>(sum / static_cast<double>(rows)));
  return Tensor::From(ctx, {1, std::ssize(mean)}, mean);
}

// Gives the stored rows of a table to `sink`, its default row behind them.
void StreamTable(Context& ctx, const RowSource& source, const QuantizeOptions& all,
                 WrittenTable& table, const StreamedTensor::Sink& sink) {
  const RowCodec& codec = table.spec.codec;
  const QuantizeOptions options = OptionsFor(codec, all);
  std::vector<double> sums(table.spec.default_row ? static_cast<size_t>(source.dim) : 0);
  table.error = QuantizeTable(
      ctx, table.spec.default_row ? Summing(source, sums) : source, codec, options,
      [&](int64_t, const Tensor& stored) { sink(stored.raw_data(), stored.nbytes()); });
  if (!table.spec.default_row) return;
  const Tensor row = EncodeRows(ctx, codec, Mean(ctx, sums, source.rows), options.encode);
  sink(row.raw_data(), row.nbytes());
}

// The version of the model that is there, 0 if there is none. One that can't be read is replaced.
int64_t VersionIn(const std::string& directory) {
  try {
    const std::string path = PathIn(directory, kModelFile);
    return ParseModelSpec(ReadTextFile(path), path).version;
  } catch (const Error&) {
    return 0;
  }
}

void AddPadded(StreamedSafetensors& content, const std::string& name, StreamedTensor tensor) {
  const int64_t bytes = tensor.shape.numel() * SizeOf(tensor.dtype);
  content.tensors.emplace(name, std::move(tensor));
  const int64_t rest = (kBoundary - bytes % kBoundary) % kBoundary;
  if (rest == 0) return;
  content.tensors.emplace(name + ".padding",
                          StreamedTensor{DType::kU8, {rest}, [rest](const auto& sink) {
                                           const char zeros[kBoundary] = {};
                                           sink(zeros, rest);
                                         }});
}

void CheckFits(const Checkpoint& checkpoint, const std::string& name, const Tensor& tensor,
               const Tensor& stored) {
  const std::span<const float> numbers = tensor.span<float>();
  const std::span<const Half> halves = stored.span<Half>();
  for (size_t i = 0; i < numbers.size(); ++i)
    if (std::isfinite(numbers[i]) && !std::isfinite(static_cast<float>(halves[i])))
      throw Error(Format("{}: {}: {} does not fit into f16", checkpoint.path, name, numbers[i]));
}

// Everything but the tables, under the same names.
void AddDense(Context& ctx, const Checkpoint& checkpoint, const ModelSpec& spec,
              StreamedSafetensors& content) {
  for (const NamedParameter& parameter : MakeDensePart(ctx, spec)->Parameters()) {
    const SafetensorsEntry& entry = EntryOf(checkpoint, parameter.name);
    const Tensor& tensor = parameter.variable.value();
    if (entry.shape != tensor.shape() || entry.dtype != DType::kF32)
      throw Error(Format("{}: {}: expected f32 {}, got {} {}", checkpoint.path, parameter.name,
                         tensor.shape(), entry.dtype, entry.shape));
    checkpoint.file->Read(ctx, entry, tensor);
    const Tensor stored = tensor.To(ctx, spec.dense_type);
    if (spec.dense_type == DType::kF16) CheckFits(checkpoint, parameter.name, tensor, stored);
    AddPadded(content, parameter.name, Streamed(ctx, stored));
  }
}

void AddRemap(Context& ctx, const TableSpec& table, const std::vector<int64_t>& kept,
              StreamedSafetensors& content) {
  std::vector<RemapEntry> entries;
  for (const int64_t id : kept) entries.push_back({id, std::ssize(entries)});
  const IndexRemap remap(ctx, table.remap, entries, table.ids, table.rows);
  AddPadded(content, RemapName(table), Streamed(ctx, remap.data()));
}

// kept: ids of the rows that are left, of pruned tables.
void AddTables(Context& ctx, const std::vector<RowSource>& sources,
               const std::vector<std::vector<int64_t>>& kept, const WriteModelOptions& options,
               std::vector<WrittenTable>& tables, StreamedSafetensors& content) {
  for (size_t t = 0; t < tables.size(); ++t) {
    WrittenTable& table = tables[t];
    const Shape shape{table.spec.stored_rows(), RowBytes(table.spec.codec, table.spec.dim)};
    if (table.spec.pruned()) AddRemap(ctx, table.spec, kept[t], content);
    AddPadded(content, RowsName(table.spec),
              {DType::kU8, shape, [&ctx, &options, &table, source = sources[t]](const auto& sink) {
                 StreamTable(ctx, source, options.quantize, table, sink);
               }});
  }
}

// Makes sources and spec those of the rows that are kept; their ids, by table.
std::vector<std::vector<int64_t>> Prune(Context& ctx, const Checkpoint& checkpoint,
                                        const PruneOptions& options,
                                        std::vector<RowSource>& sources, ModelSpec& spec) {
  std::vector<std::vector<int64_t>> kept(sources.size());
  if (!options.any()) return kept;
  for (size_t t = 0; t < sources.size(); ++t) {
    TableSpec& table = spec.tables[t];
    kept[t] = KeptRows(ctx, checkpoint, RankingModel::TableParameterName(table.name), sources[t],
                       options);
    if (std::ssize(kept[t]) == table.rows) continue;  // whole
    table.ids = table.rows;
    table.rows = std::ssize(kept[t]);
    table.remap = options.remap;
    sources[t] = RowsAt(sources[t], kept[t]);
  }
  return kept;
}

// Those of other versions, and what a crash left.
void RemoveOtherWeights(const std::string& directory, const std::string& keep) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("weights-") && name != keep) std::filesystem::remove(entry, ignored);
  }
}

void MakeDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw Error(Format("{}: cannot be made: {}", directory, error.message()));
}

}  // namespace

std::string ToString(DefaultRow row) { return row == DefaultRow::kNone ? "none" : "mean"; }

DefaultRow ParseDefaultRow(const std::string& name) {
  for (const DefaultRow row : {DefaultRow::kNone, DefaultRow::kMean})
    if (name == ToString(row)) return row;
  throw Error(Format("default row '{}': expected none or mean", name));
}

TrainConfig ConfigOf(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config) {
  if (config) return *config;
  if (checkpoint.config.empty())
    throw Error(
        Format("{}: it does not say what the model is: a config is needed, too", checkpoint.path));
  return ParseTrainConfig(checkpoint.config, checkpoint.path + ": config");
}

std::vector<RowSource> RowsOf(const Checkpoint& checkpoint, const TrainConfig& config) {
  std::vector<RowSource> sources;
  for (const EmbeddingBagConfig& table : config.tables) {
    const std::string name = RankingModel::TableParameterName(table.name);
    const SafetensorsEntry& entry = EntryOf(checkpoint, name);
    const Shape expected{table.num_embeddings, table.embedding_dim};
    if (entry.shape != expected)
      throw Error(Format("{}: {}: expected shape {}, got {}", checkpoint.path, name, expected,
                         entry.shape));
    sources.push_back(SourceOf(*checkpoint.file, NameInFile(checkpoint, entry)));
    sources.back().table = table.name;
  }
  return sources;
}

WrittenModel WriteModel(Context& ctx, const Checkpoint& checkpoint,
                        const std::optional<TrainConfig>& given, const std::string& directory,
                        const WriteModelOptions& options) {
  const TrainConfig config = ConfigOf(checkpoint, given);
  WrittenModel model{.spec = SpecOf(config, options), .tables = {}};
  CheckTableCodecs(model.spec, options);
  std::vector<RowSource> sources = RowsOf(checkpoint, config);
  if (options.quantize.nan == NanPolicy::kError) CheckNoNan(ctx, sources);
  const std::vector<std::vector<int64_t>> kept =
      Prune(ctx, checkpoint, options.prune, sources, model.spec);

  StreamedSafetensors content;
  AddDense(ctx, checkpoint, model.spec, content);
  for (const TableSpec& table : model.spec.tables)
    model.tables.push_back(
        {.spec = table,
         .checkpoint_bytes =
             EntryOf(checkpoint, RankingModel::TableParameterName(table.name)).nbytes(),
         .error = {}});
  AddTables(ctx, sources, kept, options, model.tables, content);

  model.spec.version = VersionIn(directory) + 1;
  model.spec.weights = Format("weights-{}.safetensors", model.spec.version);
  const std::string json = ToJson(model.spec);
  ParseModelSpec(json, directory);  // what could not be read is not written
  MakeDirectory(directory);
  WriteSafetensors(PathIn(directory, model.spec.weights), content);
  ReplaceTextFile(PathIn(directory, kModelFile), json);
  SyncFolder(directory);
  RemoveOtherWeights(directory, model.spec.weights);
  return model;
}

}  // namespace tessera::serve
