#ifndef TESSERA_CLI_CONFIG_CONFIG_SECTIONS_H_
#define TESSERA_CLI_CONFIG_CONFIG_SECTIONS_H_
// The objects of a configuration's schema (train/config/config_reference.h) as flat lists of keys.
#include <string>
#include <vector>

#include "runtime/json/json_schema.h"

namespace tessera::cli {

struct ConfigRow {
  std::string key;
  internal::Json schema;
  std::string need;                // "required", "required unless dense_in is 0", or ""
  std::vector<std::string> kinds;  // those that have it so; empty: all
};

struct ConfigSection {
  std::string path;  // "tables[].cache"; "" for the document
  std::string meaning;
  std::vector<std::string> kinds;  // the words that decide over its keys; empty: none do
  std::vector<ConfigRow> rows;
};

// Each object after the one that it is part of.
std::vector<ConfigSection> ConfigSections(const internal::Json& schema);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_CONFIG_CONFIG_SECTIONS_H_
