// tessera quantize: writes a checkpoint as a model directory that can be served.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "cli/command.h"
#include "cli/config_flags.h"
#include "cli/memory_limit_flag.h"
#include "cli/outputs.h"
#include "cli/quantize/written_model_report.h"
#include "cli/scored_rows.h"
#include "cli/show/log.h"
#include "runtime/base/joined.h"
#include "runtime/base/natural_order.h"
#include "runtime/context.h"
#include "runtime/files/files.h"
#include "serve/export/choose_table_codecs.h"
#include "serve/export/model_memory.h"
#include "serve/export/model_writer.h"
#include "train/checkpoint/saved_form.h"
#include "train/checkpoint/version_folders.h"
#include "train/run/row_counter.h"

namespace tessera::cli {
namespace {

constexpr char kQuantizeDescription[] =
    "Make a model directory of a checkpoint, with rows of fewer bits, for tessera predict, tessera "
    "serve and programs.";
constexpr char kQuantizeFooter[] =
    "\n"
    "Examples:\n"
    "  tessera quantize model.safetensors -o model --bits 8\n"
    "  tessera quantize model.safetensors -o model --bits 4 --search --table t_user=int8\n"
    "  tessera quantize model.safetensors -o model --prune 0.3 --dense f16 --data eval.tsv\n"
    "  tessera quantize model.safetensors -o versions --keep 3\n"
    "\n"
    "--bits 32 and 16 are f32 and f16, 8, 4 and 2 are TorchRec's int8, int4 and int2 rows (scale "
    "and bias as halves before the codes), fp8 is FBGEMM's (hfp8). A directory that holds a "
    "model already gets the next version, which a running tessera serve takes up on SIGHUP (kill "
    "-HUP) or …/load. A folder of versions (--keep) gets the next version in a folder of its own, "
    "named by its number; a running tessera serve takes it up by itself, and tessera rollback "
    "takes it back. Rows are padded to 16 bytes, as TorchRec's, also where --budget or --max-error "
    "chooses their codec; --codec int4@4 pads to 4.\n"
    "The errors shown are those of single numbers of the rows.\n"
    "--prune, --prune-norm and --prune-untouched drop every row that one of them names. Ids of "
    "such rows read the default row, or add nothing, as unknown ids do. A table whose rows are all "
    "named keeps the one of the largest norm. A dense part stored as f16 is computed in f32. "
    "--budget counts the rows before any is dropped. It goes up from each table's smallest codec "
    "in steps, each the one that takes most squared error off a byte; as no step is taken back, "
    "the sum may stay above the smallest that there is.\n";

struct QuantizeFlags {
  std::vector<std::string> set;
  std::string checkpoint, out, bits = "8", codec, config, default_row = "none", nan = "error",
                               dense = "f32", remap = "array", part = ToString(RowPart::kAll);
  serve::PruneOptions prune;
  ScoredRows scored;
  std::vector<std::string> tables;
  double max_error = 0;
  std::string budget, memory_limit;
  int threads = 0;
  std::optional<int64_t> keep;
  bool search = false, overwrite = false, new_inputs = false;
};

RowCodec CodecOfBits(const std::string& bits) {
  constexpr std::pair<const char*, RowType> kBits[] = {
      {"32", RowType::kF32}, {"16", RowType::kF16}, {"8", RowType::kInt8},
      {"4", RowType::kInt4}, {"2", RowType::kInt2}, {"fp8", RowType::kHfp8}};
  for (const auto& [name, type] : kBits)
    if (bits == name) return {type};
  throw Error(Format("--bits {}: expected 32, 16, 8, 4, 2 or fp8", bits));
}

// Codecs that --budget and --max-error choose are searched where they may be.
void CheckSearch(const QuantizeFlags& flags, const serve::WriteModelOptions& options) {
  if (!flags.search || !flags.budget.empty() || flags.max_error > 0) return;
  bool searches = TakesSearch(options.codec.type);
  for (const auto& [table, codec] : options.table_codecs)
    searches = searches || TakesSearch(codec.type);
  if (!searches)
    throw Error(Format(
        "--search beside rows of {}, which have no range to search for; int8, int4, int2 and "
        "those with _tail have",
        options.codec));
}

// Reads the choices of --table.
std::map<std::string, RowCodec> TableCodecs(const std::vector<std::string>& choices) {
  std::map<std::string, RowCodec> codecs;
  std::map<std::string, std::string> given;
  for (const std::string& choice : choices) {
    const size_t equals = choice.rfind('=');
    if (equals == std::string::npos)
      throw Error(Format("--table {}: expected TABLE=CODEC", choice));
    const std::string table = choice.substr(0, equals);
    const auto [first, is_new] = given.emplace(table, choice);
    if (!is_new)
      throw Error(
          Format("--table {} beside --table {}: the table is given twice: leave one of "
                 "them out",
                 first->second, choice));
    codecs[table] = ParseRowCodec(choice.substr(equals + 1));
  }
  return codecs;
}

serve::WriteModelOptions MakeOptions(const QuantizeFlags& flags) {
  serve::WriteModelOptions options;
  options.codec = flags.codec.empty() ? CodecOfBits(flags.bits) : ParseRowCodec(flags.codec);
  options.default_row = serve::ParseDefaultRow(flags.default_row);
  options.quantize.encode.search = flags.search;
  options.new_inputs = flags.new_inputs;
  options.prune = flags.prune;
  options.prune.remap = serve::ParseRemapKind(flags.remap);
  if (flags.dense != "f32" && flags.dense != "f16")
    throw Error(Format("--dense {}: expected f32 or f16", flags.dense));
  if (flags.dense == "f16") options.dense_type = DType::kF16;
  options.quantize.nan = ParseNanPolicy(flags.nan);
  options.table_codecs = TableCodecs(flags.tables);
  CheckSearch(flags, options);
  if (flags.remap != "array" && !options.prune.any())
    throw Error(
        Format("--remap {} without --prune, --prune-norm or --prune-untouched: all rows remain, so "
               "ids are their numbers",
               flags.remap));
  return options;
}

// Says which tables no row is dropped of.
void WarnOfRawIds(const serve::PruneOptions& prune, const TrainConfig& config) {
  if (!prune.any()) return;
  std::vector<std::string> tables;
  for (const auto& [table, managed] : config.managed_collision) tables.push_back(table);
  std::ranges::sort(tables, NaturalLess());
  if (!tables.empty())
    Warn(
        Format("tables with raw ids keep all rows that ids have, whatever --prune, --prune-norm "
               "and --prune-untouched say: {}",
               internal::Joined(tables)));
}

// Says which tables --default-row changes nothing of.
void WarnOfDefaultRow(const QuantizeFlags& flags, const serve::ModelSpec& spec) {
  if (serve::ParseDefaultRow(flags.default_row) == serve::DefaultRow::kNone) return;
  std::vector<std::string> tables;
  for (const serve::TableSpec& table : spec.tables)
    if (!table.default_row) tables.push_back(table.name);
  if (!tables.empty())
    Warn(
        Format("--default-row {} changes nothing of tables whose unknown raw ids read rows that "
               "they share: {}",
               flags.default_row, internal::Joined(tables)));
}

void WarnOfNewInputs(const QuantizeFlags& flags, bool goes_on) {
  if (flags.new_inputs && !goes_on)
    Warn(Format("--new-inputs changes nothing: {} holds no model, which could read other inputs",
                flags.out));
}

EvaluationValues ScoresOf(RowScorer scorer, const QuantizeFlags& flags) {
  scorer.CheckHasMetrics("--data");
  const auto source = OpenScoredRows(flags.scored, scorer.inputs(), flags.checkpoint);
  RowCounter counted(*source);
  const EvaluationValues scores = scorer.ScoreAll(counted);
  const auto any = [](const auto& task) { return task.values.clicks.examples > 0; };
  CheckAnyScored(flags.scored, std::ranges::any_of(scores.tasks, any), counted.rows());
  return scores;
}

// The checkpoint's scores on --data, before anything is written; absent without --data.
std::optional<EvaluationValues> ScoresOfCheckpoint(const QuantizeFlags& flags,
                                                   const Checkpoint& checkpoint,
                                                   const std::optional<TrainConfig>& config) {
  if (flags.scored.data.empty()) return {};
  RowScorer scorer(checkpoint, config, flags.threads);
  SayPart(flags.scored, scorer.inputs(), scorer.training_data(), flags.checkpoint);
  WarnOfScoredRows(flags.scored, scorer.inputs(), flags.checkpoint);
  SayAllRows(flags.scored, scorer.inputs().data.split.has_value());
  return ScoresOf(std::move(scorer), flags);
}

// Prints how much of the checkpoint's AUC the model lost.
void ReportLoss(const QuantizeFlags& flags, const std::string& model,
                const EvaluationValues& before) {
  const EvaluationValues after =
      ScoresOf(RowScorer(model, {}, {.threads = std::max(flags.threads, 1)}), flags);
  std::printf("%s\n", QualityLossText(before, after).c_str());
}

// Reads a budget such as "0.3x".
double ParseShare(const std::string& budget) {
  double share = 0;
  const char* end = budget.data() + budget.size();
  const auto [at, error] = std::from_chars(budget.data(), end, share);
  if (error != std::errc() || std::string(at, end) != "x" || !(share > 0) ||
      share > serve::CodecBudget::kMaxShare)
    throw Error(
        Format("--budget {}: expected a share of the tables' size as f32, such as 0.3x, of "
               "at most {}x",
               budget, serve::CodecBudget::kMaxShare));
  return share;
}

// Whether the folder holds a model; then its next version is written.
bool HoldsModel(const std::string& folder) { return IsThere(PathIn(folder, serve::kModelFile)); }

// The directory that is written: --out, or its next version in a folder of versions.
std::string DirectoryOf(const QuantizeFlags& flags, serve::WriteModelOptions& options) {
  if (const auto place = PlaceOfVersion(flags.out))
    throw Error(
        Format("{}: it is version {} of {}, and stays what it is: give -o {}, which gets "
               "the next version",
               flags.out, place->number, place->folder, place->folder));
  if (flags.keep && HoldsModel(flags.out))
    throw Error(
        Format("{}: it is a model directory, but --keep needs a folder of versions: name "
               "another one, or make it version VERSION of a folder: mkdir DIR && mv {} "
               "DIR/VERSION (tessera inspect {} shows VERSION)",
               flags.out, flags.out, flags.out));
  if (!flags.keep && !HasHadVersions(flags.out)) return flags.out;
  options.version = HighestVersionIn(flags.out) + 1;
  options.follows = NewestVersionOf(flags.out);
  return PathIn(flags.out, std::to_string(options.version));
}

int Quantize(QuantizeFlags& flags) {
  flags.scored.part = ParseRowPart(flags.part);
  serve::WriteModelOptions options = MakeOptions(flags);
  const std::optional<TrainConfig> config = ReadConfigIfGiven(flags.config, flags.set);
  const serve::CodecBudget budget{.share = flags.budget.empty() ? 0 : ParseShare(flags.budget),
                                  .error = flags.max_error};
  std::vector<std::string> reads = flags.scored.data;
  reads.insert(reads.end(), {flags.checkpoint, flags.config});
  Outputs outputs(flags.overwrite, std::move(reads));
  const bool goes_on = HoldsModel(flags.out) || HasHadVersions(flags.out) ||
                       (flags.keep && HighestVersionIn(flags.out) > 0);
  outputs.AddFolder(flags.out, goes_on ? flags.out : "");
  CheckReadAgain(flags.scored.data,
                 "quantize scores its rows twice, by the checkpoint and by the model");
  CheckSavesInto(flags.out, SavedForm::kModelDirectory);
  const std::string directory = DirectoryOf(flags, options);
  const MemoryThere there = MemoryThereIs(flags.memory_limit);
  Context ctx({.threads = flags.threads});
  const Checkpoint checkpoint = ReadCheckpoint(flags.checkpoint);
  const TrainConfig read_config = serve::ReadConfig(checkpoint, config);
  CheckWritingMemory(checkpoint, read_config, options, there);
  WarnOfRawIds(options.prune, read_config);
  WarnOfNewInputs(flags, goes_on);
  if (!flags.scored.data.empty()) CheckScoringMemory(checkpoint, config, there);
  if (budget.share > 0 || budget.error > 0)
    options.table_codecs = ChooseTableCodecs(ctx, checkpoint, config, budget, options.quantize);
  const std::optional<EvaluationValues> before = ScoresOfCheckpoint(flags, checkpoint, config);
  const serve::WrittenModel model = WriteModel(ctx, checkpoint, config, directory, options);
  ReportWrittenModel(model, directory);
  WarnOfDefaultRow(flags, model.spec);
  if (flags.keep) RemoveOldVersions(flags.out, *flags.keep);
  if (before) ReportLoss(flags, directory, *before);
  return 0;
}

void AddPruneFlags(Command command, QuantizeFlags& f) {
  command
      .Add("--prune", f.prune.share,
           "Drop this fraction of each table's rows, those of the smallest norms")
      .Within(NumbersFrom(0.0, 1.0))
      .Value("SHARE");
  command.Add("--prune-norm", f.prune.max_norm, "Drop rows whose norm is at most this")
      .Within(NumbersFrom(0.0, 1e30))
      .Value("NORM");
  command.Add("--prune-untouched", f.prune.untouched,
              "Drop rows whose optimizer state is all 0: the training never met them, or only "
              "with gradients of 0 (states of f16 do not tell)");
  command
      .Add("--remap", f.remap,
           "Ids find the remaining rows through an array (4 bytes an id; the default) or a hash "
           "(16 bytes a row)")
      .Value("array|hash");
}

void AddScoreFlags(Command command, QuantizeFlags& f) {
  command
      .Add("--data", f.scored.data,
           "Score these rows with the checkpoint and the model, and print how much AUC (of a task "
           "by mse, RMSE) was lost")
      .Value("FILE");
  command.Add("--rows", f.scored.range, "Score only these rows of --data; default: all")
      .Value("FIRST:LAST")
      .Needs("--data");
  AddPartFlag(command, "Score only, of --data,", f.part).Needs("--data");
}

void AddCodecFlags(Command command, QuantizeFlags& f) {
  Flag bits =
      command
          .Add("--bits", f.bits,
               "Bits of a number in the rows of all tables: 32, 16, 8, 4, 2 or fp8; default 8")
          .Value("BITS");
  Flag codec =
      command.Add("--codec", f.codec, "Codec of the rows of all tables, by name: e4m3, mx4, …")
          .Excludes(bits)
          .Value("CODEC");
  Flag tables =
      command.Add("--table", f.tables, "Codec of this table's rows; may be given more than once")
          .Value("TABLE=CODEC");
  Flag budget = command
                    .Add("--budget", f.budget,
                         "Choose each table's codec, of int2, int4, int8, f16 and f32, so that all "
                         "together take at most this fraction of their size as f32, with a small "
                         "sum of the tables' squared errors (--max-error says which error)")
                    .Excludes(bits)
                    .Excludes(codec)
                    .Excludes(tables)
                    .Value("0.3x");
  command
      .Add(
          "--max-error", f.max_error,
          "Choose each table's smallest codec whose RMS error is at most this fraction of the RMS "
          "of its numbers; a finite number that the codec turns into inf or NaN counts as wrong by "
          "100 %")
      .Within(NumbersFrom(1e-9, 1.0))
      .Excludes(bits)
      .Excludes(codec)
      .Excludes(tables)
      .Excludes(budget)
      .Value("ERROR");
}

}  // namespace

void AddQuantizeCommand(Command app) {
  Command command = app.AddCommand("quantize", kQuantizeDescription);
  const auto f = std::make_shared<QuantizeFlags>();
  command.Add("checkpoint", f->checkpoint, "A checkpoint of tessera train in any form")
      .Required()
      .Value("PATH");
  command
      .Add("-o,--out", f->out,
           "Write the model to this directory; in a folder of versions, to its next version")
      .Required()
      .Value("DIR");
  command
      .Add(
          "--keep", f->keep,
          "Make --out a folder of versions (DIR/1, DIR/2, ...) and keep the N newest; without this "
          "flag a model directory is replaced, and a folder of versions keeps all")
      .Within(NumbersFrom(int64_t{1}, int64_t{1'000'000}))
      .Value("N");
  AddCodecFlags(command, *f);
  command.Add("--search", f->search,
              "Look for ranges with a smaller squared error (int8, int4, int2; takes longer)");
  command
      .Add("--default-row", f->default_row,
           "Unknown ids and those of pruned rows add nothing (none, the default), or read the mean "
           "of the table's rows, pruned ones too, whose numbers are all finite (mean)")
      .Value("none|mean");
  command.Add("--nan", f->nan, "A NaN in a table is an error (the default), or becomes zero")
      .Value("error|zero");
  AddConfigFlags(command, "Read the training configuration from this file, not from the checkpoint",
                 f->config, f->set);
  command.Add("--threads", f->threads, "Number of threads; default: all cores")
      .Within(NumbersFrom(1, 1024))
      .Value("N");
  command.Add("--dense", f->dense, "Store the dense part as f32 (the default) or f16")
      .Value("f32|f16");
  AddPruneFlags(command, *f);
  AddScoreFlags(command, *f);
  AddMemoryLimitFlag(command, f->memory_limit);
  AddOverwriteFlag(command, f->overwrite);
  command.Add("--new-inputs", f->new_inputs,
              "Let the directory's next version read other inputs than the one that is "
              "there: another number of dense values, or other features");
  command.Footer(kQuantizeFooter);
  command.Run([f] { return Quantize(*f); });
}

}  // namespace tessera::cli
