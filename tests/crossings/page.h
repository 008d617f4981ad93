#ifndef TESSERA_TESTS_CROSSINGS_PAGE_H_
#define TESSERA_TESTS_CROSSINGS_PAGE_H_
// docs/crossings.md: what is crossed, and what is refused for which reason.
#include <string>

namespace tessera::testing {

std::string CrossingsPage();

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_CROSSINGS_PAGE_H_
