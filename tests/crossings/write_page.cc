// Prints docs/crossings.md.
#include <cstdio>

#include "tests/crossings/page.h"

int main() { std::fputs(tessera::testing::CrossingsPage().c_str(), stdout); }
