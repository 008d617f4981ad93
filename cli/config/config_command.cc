// tessera config: every key of a training configuration, as text or as a JSON Schema.
#include <cstdio>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/config/config_text.h"
#include "runtime/base/check.h"
#include "train/config/config_reference.h"

namespace tessera::cli {
namespace {

constexpr char kDescription[] =
    "Print the reference of a configuration: every key with its type, default and meaning, and "
    "which model, optimizer or format has it.";
constexpr char kFooter[] =
    "\nExamples:\n"
    "  tessera config model --type ple\n"
    "  tessera config optimizer.sparse --type adam\n"
    "  tessera config train.batch_size\n"
    "  tessera config lr\n"
    "  tessera config --json-schema > tessera.schema.json\n"
    "\n"
    "An editor that knows JSON Schema (draft 2020-12) completes and checks a configuration whose "
    "first key is \"$schema\": \"./tessera.schema.json\".\n";

struct Flags {
  std::string path, kind;
  bool json_schema = false;
};

int Config(const Flags& flags) {
  if (flags.json_schema && !(flags.path.empty() && flags.kind.empty()))
    throw Error(Format("--json-schema is that of the whole document: leave {} out",
                       flags.path.empty() ? "--type" : flags.path));
  const std::string schema = ConfigSchema();
  std::printf("%s\n", flags.json_schema ? schema.c_str()
                                        : ConfigText(schema, flags.path, flags.kind).c_str());
  return 0;
}

}  // namespace

void AddConfigCommand(Command app) {
  Command command = app.AddCommand("config", kDescription);
  const auto flags = std::make_shared<Flags>();
  command
      .Add("key", flags->path,
           "A part or a key, as optimizer.sparse or tables.rows; or a word in names, as lr or "
           "eval: all keys that have it; default: all")
      .Value("KEY");
  command
      .Add("--type", flags->kind,
           "Only the keys of this type of a model, name of an optimizer or metric, format of data, "
           "kind of raw ids, or policy of a warm-up")
      .Value("WORD");
  command.Add("--json-schema", flags->json_schema,
              "Print the JSON Schema of a configuration, for editors");
  command.Footer(kFooter);
  command.Run([flags] { return Config(*flags); });
}

}  // namespace tessera::cli
