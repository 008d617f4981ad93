#ifndef TESSERA_TESTS_COMM_SUITE_H_
#define TESSERA_TESTS_COMM_SUITE_H_
// Tests that every backend must pass, as functions that each rank of a group runs. They compare
// with values that every rank computes for all ranks by itself, sums bit by bit in the order of
// ranks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace tessera::testing {

struct CommCase {
  const char* name;
  void (*run)(Communicator& comm, Context& ctx);
  // Compares sums bit by bit; else the backend may have an order of its own.
  bool needs_rank_order = false;
};

std::vector<CommCase> CommCases();

inline std::string CommCaseName(const ::testing::TestParamInfo<CommCase>& info) {
  return info.param.name;
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_COMM_SUITE_H_
