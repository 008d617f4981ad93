#ifndef TESSERA_TESTS_COMM_SUITE_GROUPS_H_
#define TESSERA_TESTS_COMM_SUITE_GROUPS_H_
// The part of the suite about groups of ranks, what ranks exchange on the host, and leaders.
#include <vector>

#include "tests/comm/suite.h"

namespace tessera::testing {

std::vector<CommCase> GroupCases();

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_COMM_SUITE_GROUPS_H_
