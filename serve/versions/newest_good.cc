#include "serve/versions/newest_good.h"

#include <string>
#include <vector>

#include "runtime/files/files.h"
#include "serve/model_chain.h"
#include "serve/versions/bad_versions.h"
#include "train/checkpoint/version_folders.h"

namespace tessera::serve {
namespace {

// The newest version that can be loaded, 0 without any; `bad` gets those above it.
int64_t FindNewestGood(const std::vector<VersionFolder>& versions, const ModelChainOptions& options,
                       std::vector<BadVersion>& bad) {
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) try {
      const ModelChain loaded(version->path, options);
      return version->number;
    } catch (const Error& error) {
      bad.push_back({version->number, error.what()});
    }
  return 0;
}

}  // namespace

void ThrowWithNewestGood(const std::string& path, const Error& error,
                         const std::function<void(const ModelSpec&)>& accept) {
  std::vector<VersionFolder> versions = VersionFoldersIn(path);
  if (versions.empty()) return;
  std::vector<BadVersion> bad = {{versions.back().number, error.what()}};
  versions.pop_back();
  const int64_t good = FindNewestGood(versions, {.accept = accept}, bad);
  if (good == 0) ThrowNoneIsGood(path, bad);
  throw Error(Format("{}: {}; version {} can be loaded: name {}, or {}", path, BadVersionsText(bad),
                     good, PathIn(path, std::to_string(good)), RollbackText(path, bad, good)));
}

}  // namespace tessera::serve
