// Processes that launchers of MPI start know their rank. No MPI is started here.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <string>

#include "comm/mpi/mpi_communicator.h"

namespace tessera {
namespace {

using Environment = std::map<std::string, std::string>;

// Size, rank, ranks of the node, and the place among them.
std::array<int, 4> Told(const Environment& environment) {
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  const std::array<int, 4> told = {MpiSize(), MpiRank(), MpiLocalSize(), MpiLocalRank()};
  for (const auto& [name, value] : environment) unsetenv(name.c_str());
  return told;
}

using Numbers = std::array<int, 4>;

TEST(MpiLaunchers, NobodyStartedThisProcess) {
  EXPECT_EQ(Told({}), (Numbers{0, 0, 0, 0}));
  EXPECT_FALSE(UnderMpirun());
}

TEST(MpiLaunchers, Mpirun) {
  EXPECT_EQ(Told({{"OMPI_COMM_WORLD_SIZE", "8"},
                  {"OMPI_COMM_WORLD_RANK", "5"},
                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                  {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                  {"PMIX_RANK", "5"}}),
            (Numbers{8, 5, 4, 1}));
  EXPECT_EQ(Told({{"PMI_SIZE", "3"}, {"PMI_RANK", "2"}}), (Numbers{3, 2, 0, 0}));
}

TEST(MpiLaunchers, SrunWithPmix) {
  const Environment step = {{"PMIX_RANK", "9"},    {"SLURM_STEP_NUM_TASKS", "11"},
                            {"SLURM_PROCID", "9"}, {"SLURM_LOCALID", "1"},
                            {"SLURM_NODEID", "2"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}};
  EXPECT_EQ(Told(step), (Numbers{11, 9, 3, 1}));
  Environment second = step;
  second["SLURM_NODEID"] = "1";
  EXPECT_EQ(Told(second)[2], 4);
  second["SLURM_STEP_TASKS_PER_NODE"] = "?";
  EXPECT_EQ(Told(second)[2], 0);
  // A batch script, and srun without MPI, start no ranks.
  Environment script = step;
  script.erase("PMIX_RANK");
  EXPECT_EQ(Told(script), (Numbers{0, 0, 0, 0}));
  // mpirun inside a Slurm job says itself what ranks there are.
  Environment inside = step;
  inside.insert({{"OMPI_COMM_WORLD_SIZE", "2"},
                 {"OMPI_COMM_WORLD_RANK", "0"},
                 {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                 {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}});
  EXPECT_EQ(Told(inside), (Numbers{2, 0, 2, 0}));
}

}  // namespace
}  // namespace tessera
