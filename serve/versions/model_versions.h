#ifndef TESSERA_SERVE_VERSIONS_MODEL_VERSIONS_H_
#define TESSERA_SERVE_VERSIONS_MODEL_VERSIONS_H_
// A model under one name: the versions of it that are served side by side, each by a predictor of
// its own. A model directory is one version, which a Reload or deltas replace; of a folder of
// versions (train/checkpoint/version_folders.h) those of a policy are served, and the newest of
// them, a canary and a shadow aside, answers requests that name none.
//
// All new versions are loaded first, then the set of versions changes at once. A caller that has a
// predictor may use it, unchanged, for as long as it likes. Any thread may call.
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "serve/predictor.h"
#include "serve/versions/bad_versions.h"
#include "serve/versions/retry_pauses.h"
#include "serve/versions/version_policy.h"

namespace tessera::serve {

struct ServedVersion {
  int64_t number = 0;  // of its folder; 0: a model directory
  std::shared_ptr<Predictor> predictor;
};

// Times that versions were loaded: by Reload, and by Follow where the folder has other ones.
struct LoadCounts {
  int64_t good = 0, failed = 0;
};

class ModelVersions {
 public:
  // Throws Error as Predictor does, and for a policy that names a version that is not there. Of a
  // folder whose newest versions are to be served, those that cannot be loaded are passed over
  // under BadDeltas::kServeLastGood, as a Reload goes on with what was served; none must be left.
  ModelVersions(std::string name, std::string directory, const VersionPolicy& policy,
                PredictorOptions options);
  // A model directory with a predictor that is there, and outlives this.
  ModelVersions(std::string name, Predictor& predictor);

  const std::string& name() const { return name_; }
  // The versions that are served, oldest first; at least one.
  std::vector<ServedVersion> versions() const;
  // Those that could not be loaded when this last looked, the newest first; older ones are served
  // in their place.
  std::vector<BadVersion> bad_versions() const;
  const std::string& directory() const { return directory_; }
  // The one that answers requests which name no version, but for the canary's share.
  std::shared_ptr<Predictor> current() const;
  // Says why current() or the canary can answer no request, as a file of it was cut; "" where both
  // can.
  std::string FileFailure() const;
  // The one that answers the next request which names no version: current() or the canary.
  std::shared_ptr<Predictor> NextToAnswer();
  // The shadow, if it is to score the next request which names no version, too; or null. It has its
  // share of what the canary answers and of what current() answers, each evenly spread, so that its
  // scores are compared with both as often as they answer.
  std::shared_ptr<Predictor> NextShadow(const Predictor& answers);
  const VersionPolicy& policy() const { return policy_; }
  // The one that goes by this number, that of its folder or of a delta that it has taken; of a
  // model directory, the number that it has now. Null for none.
  std::shared_ptr<Predictor> Find(std::string_view version) const;

  // Loads what the directory holds now. Throws Error as the constructor does, and for a model
  // that reads other inputs (model_inputs.h) unless `new_inputs` or PredictorOptions::new_inputs;
  // a model directory is then what it was, and of a folder the good versions are served. Those that
  // are served already stay loaded.
  void Reload(bool new_inputs = false);
  // Takes the new deltas of all versions, and returns their number. Throws Error as
  // Predictor::TakeDeltas does, after those of the other versions were taken.
  int64_t TakeDeltas();
  // Takes new deltas, and versions that have come into the folder or left it.
  // Returns whether anything changed. Throws Error as TakeDeltas and Reload do, with the texts of
  // all that failed, after the rest was taken.
  bool Follow();
  // Does the same for what is due at this time, and notes in `retries` what failed: the versions of
  // the folder, and the deltas of each version that is served, wait for pauses of their own, until
  // their files change.
  bool Follow(RetryPauses& retries, RetryPauses::Time now);
  // Sums over all versions that were served; the newest of the numbers, those of folders that could
  // not be loaded too.
  DeltaCounts delta_counts() const;
  LoadCounts load_counts() const;

 private:
  using Versions = std::vector<ServedVersion>;
  using FilesOfVersions = std::map<int64_t, std::string>;  // FilesState by the version's number
  struct Loaded {
    Versions good;                // the oldest first
    std::vector<BadVersion> bad;  // the newest first
  };
  // The versions in the folder that the policy does not rule out, oldest first; at least one.
  std::vector<VersionFolder> Named() const;
  // The most versions that are served side by side.
  int64_t MostServed() const {
    return policy_.numbers.empty() ? policy_.latest : std::ssize(policy_.numbers);
  }
  // The newest so many of `named`: those that are served already, unless their files were cut
  // meanwhile, and others, which it loads. With `pass_over` older ones stand in for those that
  // cannot be loaded, else it throws.
  Loaded LoadNewest(const std::vector<VersionFolder>& named, bool new_inputs, bool pass_over) const;
  // Serves the newest that can be loaded, then throws Error for those that cannot.
  void TakeUp(const std::vector<VersionFolder>& named, bool new_inputs);
  void NoteSeen(int64_t newest, std::vector<BadVersion> bad);
  // Loads, and counts how it went.
  template <typename Fn>
  void Counted(Fn&& load);
  bool FollowFolder();
  FilesOfVersions FilesInFolder() const;
  // Names the versions, and the files of those that are not served.
  std::string FolderState(const FilesOfVersions& files) const;
  std::string DirectoryOf(const ServedVersion& version) const;
  std::shared_ptr<Predictor> Load(const VersionFolder& folder, const ServedModel* before,
                                  bool new_inputs) const;
  // Serves them, and lets the others go.
  void Use(Versions versions);
  std::shared_ptr<Predictor> WithNumber(int64_t number) const;

  const std::string name_, directory_;
  const VersionPolicy policy_;
  const PredictorOptions options_;
  ShareCounter to_canary_;
  ShareCounter to_shadow_, to_shadow_of_canary_;
  const bool is_folder_;      // of versions
  std::mutex reload_mutex_;   // one at a time
  mutable std::mutex mutex_;  // of what follows
  Versions versions_;
  std::vector<BadVersion> bad_;
  DeltaCounts retired_;  // of versions that are not served any more
  LoadCounts loads_;
};

// "3, 4": the versions that are served now.
std::string VersionsText(const ModelVersions& model);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_VERSIONS_MODEL_VERSIONS_H_
