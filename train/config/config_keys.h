#ifndef TESSERA_TRAIN_CONFIG_CONFIG_KEYS_H_
#define TESSERA_TRAIN_CONFIG_CONFIG_KEYS_H_
// A configuration as a list of keys and values, which are compared one by one: what ranks were
// started with, and what a run goes on with.
#include <string>
#include <vector>

#include "train/config/train_config.h"

namespace tessera {

struct ConfigKey {
  std::string table;  // "" for one of the document
  std::string key;    // "optimizer.dense.lr"; of a table "optimizer.lr"
  std::string value;  // as JSON; "" where there is none
};
// "optimizer.dense.lr", "table 'a': optimizer.lr".
std::string ToString(const ConfigKey& key);

// Every key, spelled out, in the document's order; "tables" has their names. What tables have from
// the document (optimizer.sparse) is said of each.
std::vector<ConfigKey> KeysOf(const TrainConfig& config);

struct ConfigDifference {
  ConfigKey first, second;  // of one table and key
};
// Keys whose values differ, or that one side lacks. Of two lists only the items that
// differ are named, as "data.features[2].max_length"; where one list is longer, what is between the
// items that both begin and end with, as "data.features[2:4]" of the first.
std::vector<ConfigDifference> Differences(const std::vector<ConfigKey>& first,
                                          const std::vector<ConfigKey>& second);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CONFIG_CONFIG_KEYS_H_
