#ifndef TESSERA_SERVE_VERSIONS_VERSION_POLICY_H_
#define TESSERA_SERVE_VERSIONS_VERSION_POLICY_H_
// Which versions of a folder of versions (train/checkpoint/version_folders.h) are served.
#include <cstdint>
#include <string>
#include <vector>

#include "train/checkpoint/version_folders.h"

namespace tessera::serve {

struct VersionPolicy {
  int64_t latest = 1;                 // the newest, so many
  std::vector<int64_t> numbers = {};  // if any: these, and no others
};

// "latest", "latest:2", "3" or "3,4". Throws Error for another text.
VersionPolicy ParseVersionPolicy(const std::string& text);

// Throws Error, which begins with `where`, for a number of the policy that is not there.
void CheckAreThere(const VersionPolicy& policy, const std::vector<VersionFolder>& there,
                   const std::string& where);

// The versions of `there`, oldest first, that the policy names. Numbers that are not there are
// passed over. Throws Error, which begins with `where`, if none is left.
std::vector<VersionFolder> ChosenVersions(const VersionPolicy& policy,
                                          const std::vector<VersionFolder>& there,
                                          const std::string& where);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_VERSIONS_VERSION_POLICY_H_
