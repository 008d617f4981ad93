#ifndef TESSERA_TRAIN_CHECKPOINT_VERSION_FOLDERS_H_
#define TESSERA_TRAIN_CHECKPOINT_VERSION_FOLDERS_H_
// A folder of versions: model directories (serve/model_spec.h) in subfolders named by their number.
//
//   model/3/model.json      version 3, which its deltas may take further
//   model/4/model.json
//   model/withdrawn-5/      a version that tessera rollback took back
//
// The rename of a model.json makes a version, and that of its subfolder takes it back. A number is
// used once: the next one is above all that were there. So each number names one version, which
// goes by the number of its folder and by those of its deltas.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

inline constexpr char kModelName[] = "model.json";  // as serve/model_spec.h has it

struct VersionFolder {
  int64_t number = 0;
  std::string path;
  int64_t newest_delta = 0;  // its number; 0 without any

  int64_t newest() const { return newest_delta > number ? newest_delta : number; }
};

// The versions in a folder, the oldest first; none where it is no folder of versions.
std::vector<VersionFolder> VersionFoldersIn(const std::string& folder);
// The version that goes by this number; null for none.
const VersionFolder* FindVersion(const std::vector<VersionFolder>& versions, int64_t number);
// "3, 5 with deltas to 7".
std::string ListedVersions(const std::vector<VersionFolder>& versions);
bool HoldsVersions(const std::string& folder);
// The numbers of the versions in a folder that were taken back, the oldest first.
std::vector<int64_t> WithdrawnIn(const std::string& folder);
// Whether the folder holds versions, or held some that were taken back.
bool HasHadVersions(const std::string& folder);
// Throws Error, which says what to do, for a folder of versions that were all taken back.
// REQUIRES: a folder without versions.
void CheckHasVersionsLeft(const std::string& folder);
// The newest version's subfolder of a folder of versions; of all else the path itself.
std::string NewestVersionOf(const std::string& path);
// Where a version lies.
struct VersionPlace {
  std::string folder;  // of versions
  int64_t number = 0;
};
// The place of a path that is a version of a folder of versions; nothing for others.
std::optional<VersionPlace> PlaceOfVersion(const std::string& path);
// The subfolder of the version that has this number, or of the one that had it and was taken back;
// "" where the number is free.
std::string FolderOfNumber(const std::string& folder, int64_t number);
// The highest number that a version in the folder has or had, deltas among them; 0 without any.
int64_t HighestVersionIn(const std::string& folder);

// Takes back the versions above the one that goes by `number`, the newest first, each by one
// rename. Returns their numbers. Throws Error, naming the folder, where no version has this number,
// and for that of a delta which others follow: deltas are not taken back.
std::vector<int64_t> WithdrawAbove(const std::string& folder, int64_t number);
// Removes all but the newest `keep` versions, and those that were taken back and are older than
// these.
void RemoveOldVersions(const std::string& folder, int64_t keep);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_VERSION_FOLDERS_H_
