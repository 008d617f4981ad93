// tessera quantize: a checkpoint as a model directory that is served.
#include <charconv>
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/numbers.h"
#include "serve/choose_table_codecs.h"
#include "serve/model_writer.h"

namespace tessera::cli {
namespace {

constexpr char kDescription[] =
    "Make a model directory of a checkpoint, with rows of fewer bits, for tessera predict, tessera "
    "serve and programs.";
constexpr char kFooter[] =
    "\nExamples:\n"
    "  tessera quantize model.safetensors -o model --bits 8\n"
    "  tessera quantize model.safetensors -o model --bits 4 --search --table t_user=int8\n"
    "\n"
    "--bits 32 and 16 are f32 and f16, 8, 4 and 2 are TorchRec's int8, int4 and int2 rows (scale "
    "and bias as halves before the codes), fp8 is FBGEMM's (hfp8). A directory that holds a model "
    "already gets the next version, which a running server takes up when it is told to. Of a "
    "folder that ranks saved, make a file by tessera export. Rows are padded to 16 bytes, as "
    "TorchRec's; --codec int4@4 pads to 4.\n"
    "The errors shown are those of single numbers of the rows.\n";

struct Flags {
  std::string checkpoint, out, bits = "8", codec, config, default_row = "none", nan = "error";
  std::vector<std::string> tables;
  double max_error = 0;
  std::string budget;
  int threads = 0;
  bool search = false;
};

RowCodec CodecOfBits(const std::string& bits) {
  constexpr std::pair<const char*, RowType> kBits[] = {
      {"32", RowType::kF32}, {"16", RowType::kF16}, {"8", RowType::kInt8},
      {"4", RowType::kInt4}, {"2", RowType::kInt2}, {"fp8", RowType::kHfp8}};
  for (const auto& [name, type] : kBits)
    if (bits == name) return {type};
  throw Error(Format("--bits {}: expected 32, 16, 8, 4, 2 or fp8", bits));
}

serve::WriteModelOptions OptionsOf(const Flags& flags) {
  serve::WriteModelOptions options;
  options.codec = flags.codec.empty() ? CodecOfBits(flags.bits) : ParseRowCodec(flags.codec);
  options.default_row = serve::ParseDefaultRow(flags.default_row);
  options.quantize.encode.search = flags.search;
  if (flags.nan != "error" && flags.nan != "zero")
    throw Error(Format("--nan {}: expected error or zero", flags.nan));
  if (flags.nan == "zero") options.quantize.nan = NanPolicy::kZero;
  for (const std::string& choice : flags.tables) {
    const size_t equals = choice.rfind('=');
    if (equals == std::string::npos)
      throw Error(Format("--table {}: expected TABLE=CODEC", choice));
    options.table_codecs[choice.substr(0, equals)] = ParseRowCodec(choice.substr(equals + 1));
  }
  return options;
}

void Report(const serve::WrittenModel& model, const std::string& out) {
  std::vector<std::vector<std::string>> rows = {
      {"table", "rows", "dim", "codec", "size", "of before", "RMS error", "largest", "worst row"}};
  int64_t bytes = 0, before = 0;
  const auto share = [](int64_t part, int64_t whole) {
    return Fixed(100 * static_cast<double>(part) / static_cast<double>(whole), 1) + " %";
  };
  for (const serve::WrittenTable& table : model.tables) {
    bytes += table.spec.nbytes();
    before += table.checkpoint_bytes;
    rows.push_back({table.spec.name, WithCommas(static_cast<double>(table.spec.rows)),
                    std::to_string(table.spec.dim), ToString(table.spec.codec),
                    Bytes(table.spec.nbytes()), share(table.spec.nbytes(), table.checkpoint_bytes),
                    Format("{:.3g}", table.error.rms), Format("{:.3g}", table.error.max),
                    std::to_string(table.error.worst_row)});
    if (table.error.not_finite > 0)
      std::fprintf(stderr, "table %s: %lld rows don't decode as finite numbers\n",
                   table.spec.name.c_str(), static_cast<long long>(table.error.not_finite));
  }
  rows.push_back({"all", "", "", "", Bytes(bytes), share(bytes, before), "", "", ""});
  std::printf("%s\n%s: version %lld\n", TextTable(rows).c_str(), out.c_str(),
              static_cast<long long>(model.spec.version));
}

// "0.3x".
double ShareOf(const std::string& budget) {
  double share = 0;
  const char* end = budget.data() + budget.size();
  const auto [at, error] = std::from_chars(budget.data(), end, share);
  if (error != std::errc() || std::string(at, end) != "x" || !(share > 0))
    throw Error(
        Format("--budget {}: expected a share of the tables' size as f32, such as 0.3x", budget));
  return share;
}

int Quantize(const Flags& flags) {
  serve::WriteModelOptions options = OptionsOf(flags);
  std::optional<TrainConfig> config;
  if (!flags.config.empty()) config = ReadTrainConfig(flags.config);
  const serve::CodecBudget budget{.share = flags.budget.empty() ? 0 : ShareOf(flags.budget),
                                  .error = flags.max_error};
  Context ctx({.threads = flags.threads});
  const Checkpoint checkpoint = ReadCheckpoint(flags.checkpoint);
  if (budget.share > 0 || budget.error > 0)
    options.table_codecs = ChooseTableCodecs(ctx, checkpoint, config, budget, options.quantize);
  Report(WriteModel(ctx, checkpoint, config, flags.out, options), flags.out);
  return 0;
}

}  // namespace

void AddQuantizeCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("quantize", kDescription);
  const auto f = std::make_shared<Flags>();
  command->add_option("checkpoint", f->checkpoint, "A safetensors file of tessera train")
      ->required()
      ->type_name("FILE");
  command->add_option("-o,--out", f->out, "The model directory")->required()->type_name("DIR");
  auto* bits =
      command->add_option("--bits", f->bits, "Of all tables: 32, 16, 8, 4, 2 or fp8; default 8")
          ->type_name("BITS");
  command->add_option("--codec", f->codec, "Of all tables, by its name, instead: e4m3, mx4, …")
      ->excludes(bits)
      ->type_name("CODEC");
  auto* tables =
      command->add_option("--table", f->tables, "But of this table; may be given more than once")
          ->type_name("TABLE=CODEC");
  auto* budget =
      command
          ->add_option("--budget", f->budget,
                       "Choose each table's codec so that all together take at most this share of "
                       "their size as f32, with the smallest error")
          ->excludes(bits)
          ->excludes(tables)
          ->type_name("0.3x");
  command
      ->add_option("--max-error", f->max_error,
                   "Choose each table's smallest codec whose RMS error is at most this share of "
                   "the RMS of its numbers")
      ->check(NumbersFrom(1e-9, 1.0))
      ->excludes(bits)
      ->excludes(tables)
      ->excludes(budget)
      ->type_name("ERROR");
  command->add_flag(
      "--search", f->search,
      "Look for ranges with a smaller squared error (int8, int4, int2; takes longer)");
  command
      ->add_option("--default-row", f->default_row,
                   "What unknown ids read: none (they add nothing), or the mean of the rows")
      ->type_name("none|mean");
  command->add_option("--nan", f->nan, "What a NaN in a table is: an error, or zero")
      ->type_name("error|zero");
  command
      ->add_option("--config", f->config,
                   "The training configuration, for a checkpoint that has none inside")
      ->type_name("FILE");
  command->add_option("--threads", f->threads, "Default: all cores")
      ->check(NumbersFrom(1, 1024))
      ->type_name("N");
  command->footer(kFooter);
  command->callback([f, &action] { action = [f] { return Quantize(*f); }; });
}

}  // namespace tessera::cli
