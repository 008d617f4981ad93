#ifndef TESSERA_TESTS_CROSSINGS_TABLES_REFUSALS_H_
#define TESSERA_TESTS_CROSSINGS_TABLES_REFUSALS_H_
// Which features of collections of tables do not go together, and why. What is not listed works.
#include <vector>

#include "tests/crossings/point.h"

namespace tessera::testing {

const std::vector<Refusal>& TablesRefusals();

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_CROSSINGS_TABLES_REFUSALS_H_
