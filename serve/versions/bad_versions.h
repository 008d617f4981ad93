#ifndef TESSERA_SERVE_VERSIONS_BAD_VERSIONS_H_
#define TESSERA_SERVE_VERSIONS_BAD_VERSIONS_H_
// Sentences about versions in a folder that cannot be loaded: which, why, and what to do.
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::serve {

struct BadVersion {
  int64_t number = 0;
  std::string why;  // it cannot be loaded
};

// "version 3 cannot be loaded: …; version 2 cannot be loaded: …".
std::string BadVersionsText(const std::vector<BadVersion>& bad);

// "tessera rollback models --to 2 takes back the versions above 2", where one of the bad is newer
// than `newest_good`; "" where none is.
std::string RollbackText(const std::string& folder, const std::vector<BadVersion>& bad,
                         int64_t newest_good);

// Throws Error for a folder of which no version can be loaded: it names each, and what to do.
// REQUIRES: at least one.
[[noreturn]] void ThrowNoneIsGood(const std::string& folder, const std::vector<BadVersion>& bad);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_VERSIONS_BAD_VERSIONS_H_
