#include "planner/model/topology_json.h"

#include "planner/model/topology_json_impl.h"
#include "runtime/json/json_fields.h"

namespace tessera {
namespace internal {
namespace {

constexpr char kTopologyKey[] = "tessera_topology";
constexpr int64_t kTopologyVersion = 1;

CollectiveBandwidth CollectiveRow(const Json& row, const std::string& where) {
  constexpr char kExpected[] = "[collective, world, local, bytes per ms]";
  if (RequireList(row, where, kExpected).size() != 4) ThrowExpected(where, kExpected, row);
  std::string name;
  int64_t world = 0, local = 0;
  CollectiveBandwidth out;
  ReadJson(row[0], where + "[0]", name);
  ReadJson(row[1], where + "[1]", world);
  ReadJson(row[2], where + "[2]", local);
  ReadJson(row[3], where + "[3]", out.bytes_per_ms);
  out.collective = ParseField(name, where + "[0]", ParseCollective);
  if (world < 1 || local < 1) ThrowExpected(where, "ranks above 0", row);
  out.world = CountOf(world, where + "[1]");
  out.local = CountOf(local, where + "[2]");
  return out;
}

void ReadCommsTable(JsonObject& object, Topology& topology) {
  if (const Json* table = FindList(object, "comms_table"))
    ForEachElement(*table, object.at("comms_table"),
                   [&](const Json& row, const std::string& where) {
                     topology.comms_table.push_back(CollectiveRow(row, where));
                   });
}

Json CommsTableJson(const Topology& topology) {
  Json table = Json::array();
  for (const CollectiveBandwidth& row : topology.comms_table)
    table.push_back({ToString(row.collective), row.world, row.local, row.bytes_per_ms});
  return table;
}

// The doubles of a topology, by name.
template <typename T, typename Fn>
void ForEachRate(T& t, Fn&& fn) {
  fn("hbm_mem_bw", t.hbm_mem_bw);
  fn("ddr_mem_bw", t.ddr_mem_bw);
  fn("ssd_mem_bw", t.ssd_mem_bw);
  fn("hbm_to_ddr_mem_bw", t.hbm_to_ddr_mem_bw);
  fn("intra_host_bw", t.intra_host_bw);
  fn("inter_host_bw", t.inter_host_bw);
  fn("bwd_compute_multiplier", t.bwd_compute_multiplier);
  fn("weighted_feature_bwd_compute_multiplier", t.weighted_feature_bwd_compute_multiplier);
}

}  // namespace

Topology TopologyFields(JsonObject& object) {
  Topology t;
  ReadWord(object, "compute_device", ParseComputeDevice, t.compute_device);
  ReadField(object, "world_size", t.world_size);
  t.local_world_size = t.world_size;
  ReadField(object, "local_world_size", t.local_world_size);
  ReadField(object, "pod_size", t.pod_size);
  ReadField(object, "cores_per_node", t.cores_per_node);
  ReadField(object, "hbm_cap", t.hbm_cap);
  ReadField(object, "ddr_cap", t.ddr_cap);
  ReadField(object, "ssd_cap", t.ssd_cap);
  ReadField(object, "hbm_caps", t.hbm_caps);
  ReadField(object, "ddr_caps", t.ddr_caps);
  ForEachRate(t, [&](const char* key, double& rate) { ReadField(object, key, rate); });
  ReadCommsTable(object, t);
  CheckTopology(t);
  return t;
}

Json TopologyJson(const Topology& t) {
  Json json = {{"compute_device", ToString(t.compute_device)},
               {"world_size", t.world_size},
               {"local_world_size", t.local_world_size},
               {"pod_size", t.pod_size},
               {"cores_per_node", t.cores_per_node},
               {"hbm_cap", t.hbm_cap},
               {"ddr_cap", t.ddr_cap},
               {"ssd_cap", t.ssd_cap}};
  if (!t.hbm_caps.empty()) json["hbm_caps"] = t.hbm_caps;
  if (!t.ddr_caps.empty()) json["ddr_caps"] = t.ddr_caps;
  ForEachRate(t, [&](const char* key, double rate) { json[key] = rate; });
  if (!t.comms_table.empty()) json["comms_table"] = CommsTableJson(t);
  return json;
}

}  // namespace internal

TopologyFile TopologyFromJson(const std::string& text, const std::string& where) {
  using namespace internal;  // NOLINT: the reader's own words
  return ReadDocument(text, where, [&](const Json& document) {
    JsonObject object(document, "");
    CheckVersion(object, kTopologyKey, kTopologyVersion);
    TopologyFile file{.topology = {}, .profile = {}, .where = where};
    file.topology = TopologyFields(object);
    if (const Json* profile = FindField(object, "profile")) file.profile = profile->dump();
    object.Finish();
    return file;
  });
}

std::string TopologyToJson(const TopologyFile& file) {
  internal::Json json = {{internal::kTopologyKey, internal::kTopologyVersion}};
  json.update(internal::TopologyJson(file.topology));
  if (!file.profile.empty()) json["profile"] = internal::ParseJson(file.profile);
  return internal::FieldALine(json);
}

}  // namespace tessera
