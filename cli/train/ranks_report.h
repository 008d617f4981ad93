#ifndef TESSERA_CLI_TRAIN_RANKS_REPORT_H_
#define TESSERA_CLI_TRAIN_RANKS_REPORT_H_
// The times of the ranks of a training, for people and as data, and what they counted together.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "data/rows/unknown_items.h"
#include "runtime/json/json_object.h"
#include "train/run/training_report.h"

namespace tessera::cli {

// A table with a line a rank: the time that it computed, that exchanges held it up, and that of
// this it waited for other ranks, which is what the rank that was held up the least did not. Of
// more than 16 ranks those that computed the most. "" without ranks.
std::string RanksTable(const std::vector<RankReport>& ranks);

// Adds "ranks": [{"rank", "seconds", "exchange_seconds", "waiting_seconds", "peak_bytes"}, …], if
// there are any. Ranks that are threads of one process have its memory.
void AddRanks(const std::vector<RankReport>& ranks, internal::Json& json);

// "2 sharding groups of 2 ranks: their tables became their mean 79 times". "" without groups.
std::string GroupsLine(const std::optional<GroupsReport>& groups);

// Adds "sharding_groups": {"groups", "ranks_of_each", "sync_interval", "averages"}, if there are
// several.
void AddGroups(const std::optional<GroupsReport>& groups, internal::Json& json);

// Adds to the first rank's counts those of the other ranks. Ranks that are threads count together.
// Every rank calls.
void AddItemsOfRanks(Communicator& comm, UnknownItems& items);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_RANKS_REPORT_H_
