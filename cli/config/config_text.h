#ifndef TESSERA_CLI_CONFIG_CONFIG_TEXT_H_
#define TESSERA_CLI_CONFIG_CONFIG_TEXT_H_
// The reference of a configuration's keys as text, a section for each object.
#include <string>

namespace tessera::cli {

// `schema` is that of ConfigSchema. `path` names a part or a key, as "optimizer.sparse" or
// "tables.rows" ("tables[].rows"); "" for all. With a `kind`, the word of a type, name, kind,
// policy, format or metric, it has only the keys of that kind. Throws Error for a path or a word
// that there is not.
std::string ConfigText(const std::string& schema, const std::string& path, const std::string& kind);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_CONFIG_CONFIG_TEXT_H_
