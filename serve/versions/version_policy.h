#ifndef TESSERA_SERVE_VERSIONS_VERSION_POLICY_H_
#define TESSERA_SERVE_VERSIONS_VERSION_POLICY_H_
// Which versions of a folder of versions (train/checkpoint/version_folders.h) are served, and which
// of them answer requests that name none.
#include <cstdint>
#include <string>
#include <vector>

#include "serve/versions/traffic_share.h"
#include "train/checkpoint/version_folders.h"

namespace tessera::serve {

struct VersionPolicy {
  int64_t latest = 1;                 // the newest, so many
  std::vector<int64_t> numbers = {};  // if any: these, and no others
  // The canary answers its share. The shadow scores its share, too, and its scores go to nobody.
  TrafficShare canary = {}, shadow = {};

  // Whether a version is the canary or the shadow.
  bool IsTried(int64_t number) const {
    return number != 0 && (number == canary.version || number == shadow.version);
  }
};

// "latest", "latest:2", "3" or "3,4". Throws Error for another text.
VersionPolicy ParseVersionPolicy(const std::string& text);

// The policy with the numbers of folders, where it names versions of `there` by those of deltas.
VersionPolicy ByFolders(VersionPolicy policy, const std::vector<VersionFolder>& there);

// Throws Error unless `numbers` names the canary, the shadow, and another version, which answers
// the rest. `there`: the versions of the folder `where`.
void CheckShares(const VersionPolicy& policy, const std::vector<VersionFolder>& there,
                 const std::string& where);

// Throws Error, which begins with `where`, for a number of the policy that is not there, and for
// two numbers of one version.
void CheckAreThere(const VersionPolicy& policy, const std::vector<VersionFolder>& there,
                   const std::string& where);

// The versions of `there`, oldest first, that the policy names by their folders. Numbers that are
// not there are passed over. Throws Error, which begins with `where`, if none is left.
std::vector<VersionFolder> ChosenVersions(const VersionPolicy& policy,
                                          const std::vector<VersionFolder>& there,
                                          const std::string& where);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_VERSIONS_VERSION_POLICY_H_
