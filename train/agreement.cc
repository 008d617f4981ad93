#include "train/agreement.h"

#include <algorithm>

#include "runtime/base/build_id.h"
#include "runtime/base/hash.h"

namespace tessera {
namespace {

constexpr size_t kShown = 3;        // differences
constexpr size_t kShownText = 120;  // bytes of a value
constexpr char kEnd = '\0';         // of each text

void AddData(const std::string& name, const DataIdentity& data, std::vector<ConfigKey>& facts) {
  for (size_t i = 0; i < data.paths.size(); ++i)
    facts.push_back({"", Format("{}[{}]", name, i), ToString(data.paths[i])});
  facts.push_back({"", name + "-rows", ToString(data.rows)});
}

std::string ToBytes(const std::vector<ConfigKey>& facts) {
  std::string bytes;
  for (const ConfigKey& fact : facts)
    for (const std::string& text : {fact.table, fact.key, fact.value}) bytes += text + kEnd;
  return bytes;
}

std::vector<ConfigKey> FromBytes(const std::string& bytes) {
  std::vector<ConfigKey> facts;
  size_t at = 0;
  const auto next = [&] {
    const size_t end = std::min(bytes.find(kEnd, at), bytes.size());
    std::string text = bytes.substr(at, end - at);
    at = end + 1;
    return text;
  };
  while (at < bytes.size()) {
    ConfigKey fact;
    for (std::string* text : {&fact.table, &fact.key, &fact.value}) *text = next();
    facts.push_back(std::move(fact));
  }
  return facts;
}

// A value as errors show it; of a long one only the part around its first difference from `other`.
std::string Shown(const std::string& value, const std::string& other) {
  if (value.empty()) return "none";
  if (value.size() <= kShownText) return value;
  const auto ends = std::mismatch(value.begin(), value.end(), other.begin(), other.end());
  const auto differs = static_cast<size_t>(ends.first - value.begin());
  const size_t begin = differs < kShownText / 2 ? 0 : differs - kShownText / 2;
  return (begin > 0 ? "…" : "") + value.substr(begin, kShownText) +
         (begin + kShownText < value.size() ? "…" : "");
}

std::string Sentence(const std::vector<ConfigDifference>& differences, size_t rank) {
  std::string text;
  for (size_t i = 0; i < std::min(differences.size(), kShown); ++i) {
    const auto& [first, other] = differences[i];
    text += Format("{}{}: rank 0 has {}, rank {} has {}", i == 0 ? "" : "; ", first,
                   Shown(first.value, other.value), rank, Shown(other.value, first.value));
  }
  if (differences.size() > kShown) text += Format("; and {} more", differences.size() - kShown);
  const bool of_data = std::any_of(differences.begin(), differences.end(), [](const auto& d) {
    return d.first.key.starts_with("--data[");
  });
  return text + (of_data
                     ? ": every rank reads all files and takes its part of each batch, so start "
                       "all ranks with the same --data"
                     : ": start all ranks alike");
}

}  // namespace

std::vector<ConfigKey> FactsOf(const TrainConfig& config, const DataSets& data) {
  std::vector<ConfigKey> facts = {{"", "the program's build", BuildId()}};
  for (ConfigKey& key : KeysOf(config)) facts.push_back(std::move(key));
  AddData("--data", data.train_identity(), facts);
  AddData("--eval", data.eval_identity(), facts);
  return facts;
}

std::vector<ConfigKey> FactsOf(const ShardingPlan& plan) {
  std::vector<ConfigKey> facts;
  for (const auto& [table, sharding] : plan.tables) {
    std::string shards = ToString(sharding.type);
    for (const Shard& shard : sharding.shards) shards += Format(", {}", shard);
    facts.push_back({table, "plan", std::move(shards)});
  }
  return facts;
}

void CheckAgreement(Communicator& comm, const std::vector<ConfigKey>& facts) {
  const std::string mine = ToBytes(facts);
  const auto hashes =
      comm.GatherStringsSync(Format("{:016x}", internal::HashOf(mine)), "what ranks are to do");
  if (std::all_of(hashes.begin(), hashes.end(), [&](const auto& h) { return h == hashes[0]; }))
    return;
  const auto all = comm.GatherStringsSync(mine, "what ranks are to do, in full");
  const std::vector<ConfigKey> first = FromBytes(all[0]);
  for (size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0]) throw ErrorOfAllRanks(Sentence(Differences(first, FromBytes(all[r])), r));
}

}  // namespace tessera
