#ifndef TESSERA_CLI_RUNS_SHORT_VALUES_H_
#define TESSERA_CLI_RUNS_SHORT_VALUES_H_
// Values of a setting beside each other, as a table has room for them.
#include <string>
#include <vector>

namespace tessera::cli {

// The values with "…" for parts of long ones: first for the beginning that all have in common, as
// what differs is what a reader looks for, then for the end.
std::vector<std::string> ShortValues(const std::vector<std::string>& values);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_RUNS_SHORT_VALUES_H_
