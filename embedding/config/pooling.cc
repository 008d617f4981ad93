#include "embedding/config/pooling.h"

#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr const char* kPoolingNames[] = {"SUM", "MEAN", "NONE"};
constexpr const char* kBoundsNames[] = {"FATAL", "WARNING", "IGNORE", "NONE"};

}  // namespace

std::string ToString(PoolingType pooling) { return kPoolingNames[static_cast<int>(pooling)]; }

PoolingType ParsePoolingType(const std::string& name) {
  for (int i = 0; i < 3; ++i)
    if (name == kPoolingNames[i]) return static_cast<PoolingType>(i);
  TESSERA_FAIL("pooling '{}': expected SUM, MEAN or NONE", name);
}

std::string ToString(BoundsCheckMode mode) { return kBoundsNames[static_cast<int>(mode)]; }

BoundsCheckMode ParseBoundsCheckMode(const std::string& name) {
  for (int i = 0; i < 4; ++i)
    if (name == kBoundsNames[i]) return static_cast<BoundsCheckMode>(i);
  TESSERA_FAIL("bounds check mode '{}': expected FATAL, WARNING, IGNORE or NONE", name);
}

}  // namespace tessera
