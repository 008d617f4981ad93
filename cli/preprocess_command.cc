// tessera preprocess: turns Criteo text, npy files, or text of any schema into files that training
// maps.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/config_flags.h"
#include "cli/outputs.h"
#include "cli/show/bad_lines.h"
#include "cli/show/log.h"
#include "cli/show/numbers.h"
#include "cli/show/row_file_warnings.h"
#include "cli/show/row_progress.h"
#include "cli/show/unknown_items_text.h"
#include "data/files/row_folder_index.h"
#include "data/preprocess/parse_rows.h"
#include "data/preprocess/preprocess.h"
#include "runtime/base/check.h"
#include "train/config/train_config.h"

namespace tessera::cli {
namespace {

constexpr char kPreprocessDescription[] =
    "Prepare rows for training, once: text of Criteo or of any schema parsed, ids numbered or "
    "hashed, rows shuffled, in files that training maps into memory.";
constexpr char kPreprocessFooter[] =
    "\n"
    "Examples:\n"
    "  tessera preprocess clicks.tsv -o clicks\n"
    "  tessera train --config examples/criteo.json --data clicks\n"
    "  tessera preprocess day_0.gz day_1.gz day_2.gz -o criteo --contiguous --shuffle "
    "--keep-last\n"
    "  tessera preprocess --config own.json clicks.jsonl -o clicks --shuffle\n"
    "  tessera train --config own.json --data clicks\n"
    "\n"
    "Inputs: Criteo text, plain or .gz; npy days as TorchRec writes them, named by the common "
    "beginning of their three files (data/day_0 for data/day_0_dense.npy, _sparse.npy and "
    "_labels.npy); or folders that this command wrote. Parquet is not read.\n"
    "With --config, inputs are text (jsonl, csv, tsv; plain, .gz or .zst; patterns, or -) that its "
    "data schema describes: bags, weights, several labels, times. The schema decides what becomes "
    "of each cell, and its tables what ids are taken modulo, so that train, predict and plan take "
    "the folder in place of the text, with the same bits. A shard has --shard-rows rows, or fewer "
    "where they would take more than a quarter of --memory-mib.\n"
    "The output is a folder of shards, which train and inspect take as it is, or, with --to npy, "
    "npy files.\n"
    "--contiguous numbers the ids of each column 2, 3, … in the order in which they come first; "
    "ids that occur fewer than --frequency-threshold times all become 1.\n"
    "Without --contiguous and --hash a value v is stored as v + 1, a missing one as 0, which "
    "train takes mod the rows of each table: it then learns the same, bit for bit, as from the "
    "text. With them, --missing zero or another --dense, rows hold other values than the text. The "
    "folder says so (tessera inspect), and a model of such rows refuses rows that were prepared "
    "otherwise.\n"
    "As TorchRec's scripts: --missing zero --dense log_from_min (--contiguous, --shuffle "
    "--keep-last) --to npy.\n"
    "--shuffle mixes the rows of all inputs, every order with equal chance; the order depends on "
    "--seed and the number of rows alone. With --keep-last the last input stays as it is, behind "
    "the others, for evaluation. Without --shuffle rows stay in their order; \"shuffle\" of a "
    "configuration mixes them while training. Until the output is whole, rows that are shuffled "
    "lie beside it: their numbers, 8 bytes for each id, and 16 for each bag. With --overwrite the "
    "earlier rows stay whole until the new ones are; a kill while days of npy files are renamed, "
    "at the very end, leaves days without labels, which nobody reads.\n"
    "Without --config, the first pass writes the rows as columns into a folder inside the output, "
    "which takes about the space of the text and is removed in the end. Memory stays near "
    "--memory-mib.\n";

struct PreprocessFlags {
  std::vector<std::string> set;
  PreprocessOptions options;
  std::string to = "folder", missing = "own", dense = "log1p", config;
  std::optional<int64_t> frequency_threshold;
  int64_t memory_mib = 1024, seed = 0;
  bool overwrite = false;
};

PreprocessOptions MakeOptions(const PreprocessFlags& flags) {
  PreprocessOptions options = flags.options;
  options.to = flags.to == "npy" ? PreprocessOutput::kNpy : PreprocessOutput::kFolder;
  options.missing = ParseMissingValues(flags.missing);
  options.dense = ParseDenseTransform(flags.dense);
  options.memory_bytes = flags.memory_mib << 20;
  options.seed = static_cast<uint64_t>(flags.seed);
  if (flags.frequency_threshold && !options.contiguous)
    throw Error("--frequency-threshold needs --contiguous");
  options.frequency_threshold = flags.frequency_threshold.value_or(options.frequency_threshold);
  return options;
}

std::string InputsText(const PreprocessReport& report) {
  std::vector<std::vector<std::string>> rows = {{"input", "rows", "as rows"}};
  for (const PreprocessedInput& in : report.inputs)
    rows.push_back(
        {in.path, Count(in.rows), Format("{}:{}", in.first_row, in.first_row + in.rows)});
  return TextTable(rows);
}

std::string FeaturesText(const PreprocessReport& report, bool contiguous) {
  std::vector<std::vector<std::string>> rows = {{"column", "rows of its table"}};
  if (contiguous) rows[0].insert(rows[0].end(), {"distinct ids", "kept"});
  for (const PreprocessedFeature& f : report.features) {
    rows.push_back({f.name, f.table_rows > 0 ? Count(f.table_rows) : "any"});
    if (contiguous) rows.back().insert(rows.back().end(), {Count(f.distinct), Count(f.kept)});
  }
  return TextTable(rows);
}

// Throws Error for a configuration whose rows are no text with a data schema.
[[noreturn]] void RefuseFormat(const PreprocessFlags& flags, const TrainConfig& config) {
  const DataFormat format = config.data.format;
  const bool is_criteo = format == DataFormat::kCriteo || format == DataFormat::kPlanted;
  throw Error(
      Format("--config {}: its data.format is {}, but --config is for text with a data schema: "
             "expected jsonl, csv or tsv{}",
             flags.config, ToString(format),
             is_criteo ? "; its rows have Criteo's columns, which need no configuration: leave "
                         "--config out"
                       : ""));
}

ParseRowsOptions MakeParseOptions(const PreprocessFlags& flags) {
  const TrainConfig config = ReadConfigFile(flags.config, flags.set);
  if (config.data.schema == nullptr || !config.data.schema->is_text()) RefuseFormat(flags, config);
  return {.inputs = flags.options.inputs,
          .output = flags.options.output,
          .schema = *config.data.schema,
          .features = Features(config),
          .skip_bad_lines = flags.options.skip_bad_lines,
          .shuffle = flags.options.shuffle,
          .keep_last = flags.options.keep_last,
          .seed = static_cast<uint64_t>(flags.seed),
          .shard_rows = flags.options.shard_rows,
          .memory_bytes = flags.memory_mib << 20};
}

// Calls work(on_progress) and prints what it reports.
template <typename Work>
int RunWith(const PreprocessFlags& flags, Work&& work) {
  std::vector<std::string> reads = flags.options.inputs;
  reads.push_back(flags.config);
  Outputs outputs(flags.overwrite, std::move(reads));
  outputs.AddFolder(flags.options.output);
  if (flags.to == "npy" && IsRowFolder(flags.options.output))
    throw Error(
        Format("--to npy: {} holds rows of --to folder, which whoever reads it would go on "
               "to read: name another folder",
               flags.options.output));
  WarnOfRepeatedFiles(flags.options.inputs);
  const auto begin = std::chrono::steady_clock::now();
  ParseRowsReport report;
  {
    RowProgress progress;
    report = work([&](const PreprocessProgress& p) { progress.Show(p.step, p.fraction, p.rows); });
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const PreprocessReport& rows = report.rows;
  Note(InputsText(rows) + "\n" + FeaturesText(rows, flags.options.contiguous));
  if (rows.skipped_rows > 0)
    Note(LeftOut(rows.skipped_rows, report.skipped), {{"skipped_rows", rows.skipped_rows}});
  const std::string unknown = UnknownItemsText(report.unknown_items.get(), "these rows");
  if (!unknown.empty()) Note(unknown);
  if (flags.options.keep_last && rows.inputs.back().rows == 0)
    Warn(Format("{}: the last input, which --keep-last keeps, has no rows",
                rows.inputs.back().path));
  const double rate = static_cast<double>(rows.rows) / seconds;
  Note(Format("{} in {}, {} s, {} rows/s", Counted(rows.rows, "row"), flags.options.output,
              Fixed(seconds, 1), WithCommas(rate)),
       {{"path", flags.options.output},
        {"rows", rows.rows},
        {"seconds", seconds},
        {"rows_per_second", rate}});
  return 0;
}

int Run(const PreprocessFlags& flags) {
  if (!flags.config.empty()) {
    const ParseRowsOptions options = MakeParseOptions(flags);
    WarnOfAbsentKeys(&options.schema, options.features, options.inputs);
    return RunWith(flags, [&](const auto& on_progress) { return ParseRows(options, on_progress); });
  }
  const PreprocessOptions options = MakeOptions(flags);
  return RunWith(flags, [&](const auto& on_progress) {
    return ParseRowsReport{.rows = Preprocess(options, on_progress), .skipped = {}};
  });
}

// A schema decides these things, or rows with bags do not have them: --config refuses the flags.
void AddIdFlags(Command command, PreprocessFlags& f, const Flag& config) {
  const auto positive = NumbersFrom(int64_t{1}, int64_t{1} << 60);
  command
      .Add("--contiguous", f.options.contiguous,
           "Number the ids of each column 2, 3, … in the order in which they come first")
      .Excludes(config);
  command
      .Add("--frequency-threshold", f.frequency_threshold,
           "With --contiguous: ids that occur less often than this become 1; default 3")
      .Within(NumbersFrom(int64_t{0}, int64_t{1} << 60))
      .Value("N")
      .Excludes(config);
  command
      .Add("--hash", f.options.hash_sizes,
           "Take ids modulo this, after they are numbered: one number for all columns, or "
           "one for each, with commas between")
      .Delimiter(',')
      .ShowDefault("")
      .Within(positive)
      .Value("ROWS")
      .Excludes(config);
  command
      .Add("--missing", f.missing,
           "A missing value of text is an id of its own (own), or the value 0 (zero)")
      .OneOf({"own", "zero"})
      .Value("HOW")
      .Excludes(config);
  command
      .Add("--dense", f.dense,
           "Dense values of text become log1p, that is log(1 + max(x, 0)); log+C, such as "
           "log+3; log_from_min, that is log(x - smallest of the file + 2); or stay as_is")
      .Value("HOW")
      .Excludes(config);
}

void AddOrderFlags(Command command, PreprocessFlags& f) {
  const Flag shuffle = command.Add("--shuffle", f.options.shuffle, "Put all rows in random order");
  command.Add("--keep-last", f.options.keep_last,
              "With --shuffle: the rows of the last input stay as they are, behind the "
              "others, for evaluation");
  command.Add("--seed", f.seed, "Shuffle by this seed")
      .Needs(shuffle)
      .Within(NumbersFrom(int64_t{0}, std::numeric_limits<int64_t>::max()))
      .Value("N");
}

void AddOutputFlags(Command command, PreprocessFlags& f, const Flag& config) {
  const auto positive = NumbersFrom(int64_t{1}, int64_t{1} << 40);
  command.Add("-o,--out,--output", f.options.output, "Write to this folder")
      .Required()
      .Value("DIR");
  command.Add("--to", f.to, "Write a folder of shards (folder) or npy files (npy)")
      .OneOf({"folder", "npy"})
      .Value("LAYOUT")
      .Excludes(config);
  AddOrderFlags(command, f);
  command.Add("--shard-rows", f.options.shard_rows, "Rows of each shard")
      .Within(positive)
      .Value("N");
  command
      .Add("--memory-mib", f.memory_mib,
           "Memory for counting ids, shuffling rows and, with --config, four shards, in MiB")
      .Within(NumbersFrom(int64_t{1}, int64_t{1} << 30))
      .Value("N");
}

}  // namespace

void AddPreprocessCommand(Command app) {
  Command command = app.AddCommand("preprocess", kPreprocessDescription);
  const auto f = std::make_shared<PreprocessFlags>();
  command.ShowDefaults();
  command.Add("input", f->options.inputs, "Read these rows: text, npy days, or folders of rows")
      .ShowDefault("")
      .Required()
      .Value("PATH");
  const Flag config =
      command
          .Add("--config", f->config,
               "Parse text by the data schema of this training configuration; without this "
               "flag inputs have Criteo's columns")
          .Value("FILE");
  AddSetFlag(command, f->set).Needs(config);
  AddPluginFlag(command);
  AddOutputFlags(command, *f, config);
  AddIdFlags(command, *f, config);
  AddSkipBadLinesFlag(command, f->options.skip_bad_lines);
  AddOverwriteFlag(command, f->overwrite);
  command.Footer(kPreprocessFooter);
  command.Run([f] { return Run(*f); });
}

}  // namespace tessera::cli
