#ifndef TESSERA_TRAIN_AGREEMENT_H_
#define TESSERA_TRAIN_AGREEMENT_H_
// Settings that all ranks of a training must share: compared before the first step, key by key.
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "sharding/plan/plan.h"
#include "train/config/config_keys.h"
#include "train/data_sets.h"

namespace tessera {

// The build, every key of the configuration, and what each path of the data is: its name without
// folders, size and hash.
std::vector<ConfigKey> FactsOf(const TrainConfig& config, const DataSets& data);
// How each table is cut.
std::vector<ConfigKey> FactsOf(const ShardingPlan& plan);

// Throws ErrorOfAllRanks on every rank, unless all have the same facts: names the first keys that
// differ, with the values that two ranks have. Every rank calls.
void CheckAgreement(Communicator& comm, const std::vector<ConfigKey>& facts);

}  // namespace tessera
#endif  // TESSERA_TRAIN_AGREEMENT_H_
