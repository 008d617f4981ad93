// tessera describe: what is in a user's own rows, and a configuration to begin with.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/config_flags.h"
#include "cli/outputs.h"
#include "cli/show/column_table.h"
#include "cli/show/log.h"
#include "cli/show/numbers.h"
#include "cli/show/row_file_warnings.h"
#include "cli/show/row_progress.h"
#include "data/describe/column_role.h"
#include "data/describe/profile_rows.h"
#include "data/files/expand_paths.h"
#include "runtime/base/check.h"
#include "runtime/base/process_text.h"
#include "runtime/files/files.h"
#include "train/config/train_config.h"
#include "train/proposal/propose_config.h"

namespace tessera::cli {
namespace {

constexpr char kDescribeDescription[] =
    "Look at rows of your own (jsonl, csv, tsv): print what their columns hold, and propose a "
    "configuration that trains on them.";
constexpr char kDescribeFooter[] =
    "\nExamples:\n"
    "  tessera describe clicks.csv -o clicks.json\n"
    "  tessera train --config clicks.json --data clicks.csv --train-rows 0:9000\n"
    "  tessera describe new_clicks.csv --config clicks.json\n"
    "\n"
    "The proposal is a beginning: read it, and mend what is not as you know it. Its keys are "
    "explained in docs/guide/data.md. Rows of a table have room for ids that were not seen; ids "
    "beyond them are taken modulo the rows. Hashed ids (text, hexadecimal, numbers far apart) get "
    "ten rows each, so that about one in ten shares its row with another.\n"
    "\"distinct\" is exact up to 8,192 values, and an estimate within some percent beyond.\n";

struct DescribeFlags {
  ProfileOptions profile;
  std::vector<std::string> paths;
  std::string config, format, delimiter, out, json, label;
  bool overwrite = false;
};

RowFormat ParseFormat(const std::string& name) {
  for (const RowFormat format : {RowFormat::kJsonl, RowFormat::kCsv, RowFormat::kTsv})
    if (name == ToString(format)) return format;
  throw Error(Format("--format: expected jsonl, csv or tsv, got '{}'", name));
}

// Throws Error for a configuration of files that have no text with columns or keys.
std::shared_ptr<const DataSchema> SchemaOf(const std::string& path) {
  const DataConfig data = ReadConfigFile(path, {}).data;
  if (data.schema == nullptr || !data.schema->is_text())
    throw Error(Format("--config {}: its data.format is {}: expected jsonl, csv or tsv", path,
                       ToString(data.format)));
  return data.schema;
}

ProfileOptions MakeOptions(const DescribeFlags& flags, RowProgress& progress) {
  ProfileOptions options = flags.profile;
  options.paths = ExpandPaths(flags.paths);
  for (const std::string& path : options.paths)
    if (!CanReadAgain(path))
      throw Error(
          Format("{}: files are looked at more than once; this can be read only once", path));
  if (!flags.config.empty()) options.schema = SchemaOf(flags.config);
  if (!flags.format.empty()) options.format = ParseFormat(flags.format);
  if (!flags.delimiter.empty()) {
    const std::string text = flags.delimiter == "\\t" ? "\t" : flags.delimiter;
    if (text.size() != 1)
      throw Error(Format("--delimiter: expected one character, got '{}'", flags.delimiter));
    options.delimiter = text[0];
  }
  options.progress = [&](double fraction, int64_t rows) {
    progress.Show("reading", fraction, rows);
  };
  return options;
}

void PrintHead(const RowsProfile& profile) {
  std::string files = ToString(profile.files.format);
  if (profile.files.format == RowFormat::kCsv && profile.files.delimiter != ',')
    files += Format(", delimiter '{}'", std::string(1, profile.files.delimiter));
  if (profile.files.format != RowFormat::kJsonl && !profile.files.columns.empty())
    files += ", no heading";
  std::printf("%s, %s%s, %s\n\n", files.c_str(), Counted(profile.rows, "row").c_str(),
              profile.all ? "" : " looked at (--rows N looks at more)",
              Counted(std::ssize(profile.columns), "column").c_str());
  if (AreCriteoColumns(profile))
    std::printf(
        "These are Criteo's columns: a label, 13 whole numbers, 26 ids of hexadecimal digits. "
        "\"format\": \"criteo\" reads them.\n\n");
}

void PrintBadLines(const RowsProfile& profile) {
  if (profile.bad_lines == 0) return;
  std::printf(
      "\n%s left out; the first: %s\n",
      (Counted(profile.bad_lines, "bad line") + (profile.bad_lines == 1 ? " is" : " are")).c_str(),
      profile.first_bad.c_str());
}

// The proposal, or an empty text and the reason why there is none.
std::string Proposal(const RowsProfile& profile, const std::vector<ProposedColumn>& columns,
                     std::string& reason) {
  try {
    return ProposeConfig(profile, columns);
  } catch (const Error& error) {
    reason = error.what();
    return "";
  }
}

// Whether training on the proposal refuses lines, unless it leaves them out.
bool HasRefusedLines(const RowsProfile& profile, const std::vector<ProposedColumn>& columns) {
  bool refused = profile.bad_lines > 0;
  for (size_t i = 0; i < columns.size(); ++i)
    refused = refused || RefusesEmptyItems(profile.columns[i], columns[i]);
  return refused;
}

void SayNext(const DescribeFlags& flags, const RowsProfile& profile,
             const std::vector<ProposedColumn>& columns) {
  std::vector<std::string> command = {"tessera", "train", "--config", flags.out, "--data"};
  command.insert(command.end(), flags.paths.begin(), flags.paths.end());
  if (HasRefusedLines(profile, columns)) command.push_back("--skip-bad-lines");
  const int64_t lines = profile.rows + profile.bad_lines, trained = lines * 9 / 10;
  if (profile.all && trained > 0)
    command.insert(command.end(), {"--train-rows", Format("0:{}", trained), "--eval-rows",
                                   Format("{}:{}", trained, lines)});
  Note(Format("\nThe configuration is in {}. Train on it:\n  {}", flags.out, ShellText(command)),
       {{"path", flags.out}});
}

int Describe(const DescribeFlags& flags) {
  Outputs outputs(flags.overwrite, flags.paths);
  outputs.AddFile(flags.out);
  outputs.AddReport(flags.json, kColumnsReport);
  WarnOfRepeatedFiles(flags.paths);
  RowsProfile profile;
  {
    RowProgress progress;
    profile = ProfileRows(MakeOptions(flags, progress));
  }
  const std::vector<ProposedColumn> columns = ProposeColumns(profile, {flags.label});
  PrintHead(profile);
  std::fputs(ColumnTable(profile, columns).c_str(), stdout);
  PrintBadLines(profile);
  if (!flags.json.empty()) ReplaceTextFile(flags.json, ColumnsJson(profile, columns));
  std::string reason;
  const std::string config = Proposal(profile, columns, reason);
  if (config.empty()) {
    if (!flags.out.empty()) throw Error(reason);
    std::printf("\nNo configuration is proposed: %s\n", reason.c_str());
    return 0;
  }
  ParseTrainConfig(config, "the proposed configuration");
  if (flags.out.empty()) {
    std::printf("\nA configuration to begin with (-o FILE writes it):\n%s", config.c_str());
    return 0;
  }
  ReplaceTextFile(flags.out, config);
  SayNext(flags, profile, columns);
  return 0;
}

}  // namespace

void AddDescribeCommand(Command app) {
  Command command = app.AddCommand("describe", kDescribeDescription);
  const auto f = std::make_shared<DescribeFlags>();
  command
      .Add("files", f->paths,
           "Files of rows, plain, .gz or .zst; several are one data set (\"part_*.csv\" too)")
      .Required()
      .Value("FILE");
  command.Add("-o,--out", f->out, "Write the proposed configuration to this file").Value("FILE");
  command.Add("--label", f->label, "The column that the model is to predict").Value("COLUMN");
  command.Add("--rows", f->profile.most_rows, "Look at the first N rows")
      .Within(NumbersFrom(int64_t{1}, int64_t{1} << 50))
      .ShowDefault()
      .Value("N");
  const Flag config =
      command
          .Add("--config", f->config,
               "Read the files as the data of this training configuration says: format, delimiter, "
               "columns, null, and the separators of columns that it names")
          .Value("FILE");
  command.Add("--format", f->format, "Format of the files: jsonl, csv or tsv; default: by the name")
      .Value("FORMAT")
      .Excludes(config);
  command
      .Add("--delimiter", f->delimiter,
           "With csv and tsv: the character between columns; default: by the first line")
      .Value("CHARACTER")
      .Excludes(config);
  command
      .Add("--columns", f->profile.columns,
           "With csv and tsv without a heading: names of the columns, with commas between")
      .Delimiter(',')
      .Value("NAME,…")
      .Excludes(config);
  command
      .Add("--null", f->profile.null,
           "A text that means a missing value, such as NULL; may be given more than once")
      .Value("TEXT")
      .Excludes(config);
  command.Add("--json", f->json, "Write what the columns hold to this file as JSON").Value("FILE");
  AddOverwriteFlag(command, f->overwrite);
  command.Footer(kDescribeFooter);
  command.Run([f] { return Describe(*f); });
}

}  // namespace tessera::cli
