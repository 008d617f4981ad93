#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/model/topology_json.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  try {
    TopologyFromJson(text, "topo.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TopologyTest, DefaultsAreTorchRecs) {
  const Topology t = TopologyFromJson(R"({"tessera_topology": 1, "world_size": 4})", "f").topology;
  EXPECT_EQ(t.world_size, 4);
  EXPECT_EQ(t.local_world_size, 4);
  EXPECT_EQ(t.group_size(), 4);
  EXPECT_EQ(t.hbm_cap, int64_t{32} << 30);
  EXPECT_DOUBLE_EQ(t.hbm_mem_bw, 963146416.128);
  EXPECT_DOUBLE_EQ(t.ddr_mem_bw, 54760833.024);
  EXPECT_DOUBLE_EQ(t.ssd_mem_bw, 104857.6);
  EXPECT_DOUBLE_EQ(t.intra_host_bw, 644245094.4);
  EXPECT_DOUBLE_EQ(t.inter_host_bw, 13421772.8);
}

TEST(TopologyTest, EveryFieldSurvivesAFile) {
  TopologyFile file;
  Topology& t = file.topology;
  t.compute_device = ComputeDevice::kCpu;
  t.world_size = 8;
  t.local_world_size = 2;
  t.pod_size = 2;
  t.cores_per_node = 6;
  t.hbm_caps.assign(8, 5);
  t.ddr_caps.assign(8, 7);
  t.inter_host_bw = 0.1;
  t.bwd_compute_multiplier = 3;
  t.comms_table = {{Collective::kReduceScatter, 8, 2, 12.5}};
  file.profile = R"({"cores":2,"lookup":[1.5,2]})";
  const TopologyFile read = TopologyFromJson(TopologyToJson(file), "f");
  EXPECT_EQ(read.topology, t);
  EXPECT_EQ(read.profile, file.profile);
}

TEST(TopologyTest, ErrorsNameFileAndField) {
  EXPECT_THAT(ErrorOf("{"), HasSubstr("topo.json: parse error"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("tessera_topology: the key is missing"));
  EXPECT_THAT(ErrorOf(R"({"tessera_topology": 2})"), HasSubstr("reads version 1, got 2"));
  EXPECT_THAT(ErrorOf(R"({"tessera_topology": 1, "world": 2})"), HasSubstr("world: unknown key"));
  EXPECT_THAT(ErrorOf(R"({"tessera_topology": 1, "compute_device": "tpu"})"),
              HasSubstr("compute_device: compute device 'tpu': expected cpu, cuda or mtia"));
  EXPECT_THAT(ErrorOf(R"({"tessera_topology": 1, "world_size": 6, "local_world_size": 4})"),
              HasSubstr("local_world_size that divides world_size 6"));
  EXPECT_THAT(ErrorOf(R"({"tessera_topology": 1, "hbm_mem_bw": 0})"),
              HasSubstr("hbm_mem_bw: expected a bandwidth of at least 0.001 bytes a millisecond"));
  EXPECT_THAT(ErrorOf(R"({"tessera_topology": 1, "world_size": 2, "hbm_caps": [1]})"),
              HasSubstr("hbm_caps, one a rank"));
  EXPECT_EQ(ErrorOf(R"({"tessera_topology": 1, "world_size": 4294967298})"),
            "topo.json: world_size: expected an integer from 0 to 2147483647, got 4294967298");
  EXPECT_THAT(
      ErrorOf(R"({"tessera_topology": 1, "comms_table": [["all_to_all", 4294967298, 1, 1]]})"),
      HasSubstr("comms_table[0][1]: expected an integer from 0 to 2147483647, got 4294967298"));
  EXPECT_THAT(ErrorOf(R"({"tessera_topology": 1, "comms_table": [["all", 1, 1, 1]]})"),
              HasSubstr("comms_table[0][0]: collective 'all'"));
}

TEST(TopologyTest, ATableOfCollectivesIsTheOnlySource) {
  Topology t;
  t.world_size = t.local_world_size = 4;
  EXPECT_EQ(CollectiveBandwidthOf(t, Collective::kAllToAll, 4, 4), t.intra_host_bw);
  EXPECT_EQ(CollectiveBandwidthOf(t, Collective::kAllToAll, 8, 4), t.inter_host_bw);
  EXPECT_EQ(CollectiveBandwidthOf(t, Collective::kAllReduce, 4, 4), 4 * t.inter_host_bw);
  t.comms_table = {{Collective::kAllToAll, 4, 4, 7}};
  EXPECT_EQ(CollectiveBandwidthOf(t, Collective::kAllToAll, 4, 4), 7);
  EXPECT_THROW(CollectiveBandwidthOf(t, Collective::kAllGather, 4, 4), Error);
}

}  // namespace
}  // namespace tessera
