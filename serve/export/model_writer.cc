#include "serve/export/model_writer.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "models/ranking_model.h"
#include "runtime/files/files.h"
#include "serve/export/export_tensors.h"
#include "serve/model_delta.h"
#include "serve/model_inputs.h"
#include "serve/raw_id_map.h"
#include "train/checkpoint/raw_id_places.h"
#include "train/checkpoint/saved_form.h"
#include "train/config/data_json.h"

namespace tessera::serve {
namespace {

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

// The directory's model; none if it has none or one that cannot be read, which is then replaced.
std::optional<ModelSpec> SpecIn(const std::string& directory) {
  try {
    const std::string path = PathIn(directory, kModelFile);
    return ParseModelSpec(ReadTextFile(path), path);
  } catch (const Error&) {
    return {};
  }
}

// The newest version in the directory, of the model or of a delta for it; 0 without a model.
int64_t VersionIn(const std::string& directory, const std::optional<ModelSpec>& there) {
  if (!there) return 0;
  int64_t version = there->version;
  std::error_code error;
  while (std::filesystem::exists(PathIn(directory, DeltaFileName(version + 1)), error)) ++version;
  return version;
}

void AddIds(Context& ctx, const TableExport& table, StreamedSafetensors& content) {
  if (table.spec.pruned()) {
    std::vector<RemapEntry> entries;
    for (const int64_t id : table.kept) entries.push_back({id, std::ssize(entries)});
    const IndexRemap remap(ctx, table.spec.remap, entries, table.spec.ids, table.spec.rows);
    AddPadded(content, RemapName(table.spec), Streamed(ctx, remap.data()));
  }
  if (!table.spec.raw_ids) return;
  RawIdMap ids(table.spec.rows);
  for (const RemapEntry& entry : table.ids) ids.Set(entry.id, entry.row);
  AddPadded(content, IdsName(table.spec), Streamed(ctx, ids.slots()));
}

// Adds the tables; `written` gets their errors.
void AddTables(Context& ctx, const std::vector<TableExport>& tables,
               const WriteModelOptions& options, std::vector<WrittenTable>& written,
               StreamedSafetensors& content) {
  for (size_t t = 0; t < tables.size(); ++t) {
    const TableSpec& spec = tables[t].spec;
    AddIds(ctx, tables[t], content);
    AddPadded(content, RowsName(spec),
              {DType::kU8,
               {spec.stored_rows(), RowBytes(spec.codec, spec.dim)},
               [&ctx, &options, &table = tables[t], &to = written[t]](const auto& sink) {
                 to.error = StreamRows(ctx, table, options.quantize, sink);
               }});
  }
}

void Prune(Context& ctx, const Checkpoint& checkpoint, const PruneOptions& options,
           std::vector<TableExport>& tables) {
  if (!options.any()) return;
  for (TableExport& table : tables) {
    if (table.spec.raw_ids) continue;
    RowsKept kept = KeptRows(ctx, checkpoint, RankingModel::TableParameterName(table.spec.name),
                             table.rows, options);
    table.all_rows_named = kept.all_rows_named;
    if (std::ssize(kept.ids) < table.spec.rows) table.Keep(std::move(kept.ids), options.remap);
  }
}

// Removes weights of other versions, their deltas, and what a crash left.
void RemoveOthers(const std::string& directory, const std::string& keep) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename();
    if ((name.starts_with("weights-") && name != keep) || name.starts_with("delta-"))
      std::filesystem::remove(entry, ignored);
  }
}

// Throws Error, naming the table, for a dim that its codec cannot have.
void CheckDim(const TableSpec& table) {
  try {
    (void)RowBytes(table.codec, table.dim);
  } catch (const Error& error) {
    throw Error(Format("table {}: {}", table.name, error.what()));
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

TrainConfig ReadConfig(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config) {
  const auto own = [&] {
    return ParseTrainConfig(checkpoint.config, checkpoint.path + ": config");
  };
  if (!config && checkpoint.config.empty())
    throw NoConfiguration(checkpoint.path, IsOfProgram(checkpoint));
  if (!config) return own();
  TrainConfig given = *config;
  if (MayHaveFound(checkpoint.config, given.data)) TakeFound(own().data, given.data);
  if (!checkpoint.config.empty() && !given.managed_collision.empty())
    CheckFindsRawIds(checkpoint.path, own(), given);
  return given;
}

std::optional<TrainedTo> TrainedOf(const Checkpoint& checkpoint) {
  if (!checkpoint.progress) return {};
  return TrainedTo{static_cast<int64_t>(checkpoint.progress->seed), checkpoint.progress->step};
}

ModelSpec MakeSpec(const TrainConfig& config, const WriteModelOptions& options) {
  ModelSpec spec;
  spec.net = config.model;
  spec.dense_type = options.dense_type;
  spec.missing = config.data.missing;
  spec.search = options.quantize.encode.search;
  for (const EmbeddingBagConfig& table : config.tables) {
    const auto own = options.table_codecs.find(table.name);
    spec.tables.push_back({.name = table.name,
                           .rows = table.num_embeddings,
                           .dim = table.embedding_dim,
                           .features = table.feature_names,
                           .pooling = table.pooling,
                           .codec = own == options.table_codecs.end() ? options.codec : own->second,
                           .default_row = options.default_row != DefaultRow::kNone});
    CheckDim(spec.tables.back());
  }
  // Data that lack the model's inputs are not what it was trained on: rows are a program's own.
  if (!tessera::internal::HasInputs(config.data, spec.Features(), spec.net.dense_in)) return spec;
  spec.data = config.data;
  spec.data->shuffle.reset();  // requests have no order
  return spec;
}

WrittenModel WriteModel(Context& ctx, const Checkpoint& checkpoint,
                        const std::optional<TrainConfig>& given, const std::string& directory,
                        const WriteModelOptions& options) {
  const TrainConfig config = ReadConfig(checkpoint, given);
  WrittenModel model{.spec = MakeSpec(config, options), .tables = {}};
  model.spec.trained = TrainedOf(checkpoint);
  CheckTableCodecs(model.spec, options);
  const std::optional<ModelSpec> there =
      SpecIn(options.follows.empty() ? directory : options.follows);
  model.spec.version = options.version > 0 ? options.version : VersionIn(directory, there) + 1;
  if (there && !options.new_inputs)
    CheckSameInputs(*there, model.spec, directory, "tessera quantize --new-inputs");
  std::vector<TableExport> tables = ExportTables(ctx, checkpoint, config, model.spec.tables);
  if (options.quantize.nan == NanPolicy::kError) CheckNoNanIn(ctx, tables);
  Prune(ctx, checkpoint, options.prune, tables);
  model.spec.tables.clear();
  for (const TableExport& table : tables) {
    model.spec.tables.push_back(table.spec);
    model.tables.push_back({.spec = table.spec,
                            .checkpoint_bytes = table.checkpoint_bytes,
                            .all_rows_named = table.all_rows_named,
                            .error = {}});
  }
  StreamedSafetensors content;
  AddDensePart(ctx, checkpoint, model.spec, content);
  AddTables(ctx, tables, options, model.tables, content);

  model.spec.weights = Format("weights-{}.safetensors", model.spec.version);
  const std::string json = ToSealedJson(model.spec);
  ParseModelSpec(json, directory);  // what could not be read is not written
  MakeDirectory(directory);
  WriteModelFile(PathIn(directory, model.spec.weights), content);
  ReplaceTextFile(PathIn(directory, kModelFile), json);
  SyncFolder(directory);
  RemoveOthers(directory, model.spec.weights);
  return model;
}

}  // namespace tessera::serve
