#include "train/checkpoint/version_folders.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "runtime/base/check.h"
#include "runtime/base/parse_number.h"
#include "runtime/files/files.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWithdrawn = "withdrawn-", kRemoved = "removed-";
constexpr std::string_view kDeltaBegin = "delta-", kDeltaEnd = ".safetensors";

// The number that a text is, written as numbers of versions are.
std::optional<int64_t> NumberOf(std::string_view text) {
  int64_t number = 0;
  if (!ParseNumber(text, number) || number < 1 || std::to_string(number) != text) return {};
  return number;
}

std::optional<int64_t> NumberBehind(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return {};
  return NumberOf(name.substr(prefix.size()));
}

// The number of a version that is there, was taken back, or is being removed.
std::optional<int64_t> AnyNumberOf(std::string_view name) {
  for (const std::string_view prefix : {kWithdrawn, kRemoved})
    if (const auto number = NumberBehind(prefix, name)) return number;
  return NumberOf(name);
}

// fn(name, path) for each entry of a folder, none where it cannot be read.
template <typename Fn>
void ForEachIn(const std::string& folder, Fn fn) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    fn(entry.path().filename().string(), entry.path().string());
}

// The number of the newest delta in a model directory, 0 without any.
int64_t NewestDeltaIn(const std::string& directory) {
  int64_t newest = 0;
  ForEachIn(directory, [&](std::string_view name, const std::string&) {
    if (!name.ends_with(kDeltaEnd)) return;
    name.remove_suffix(kDeltaEnd.size());
    newest = std::max(newest, NumberBehind(kDeltaBegin, name).value_or(0));
  });
  return newest;
}

void Rename(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw Error(Format("{}: cannot be renamed to {}: {}", from, to, error.message()));
}

std::string Named(std::string_view prefix, int64_t number) {
  return std::string(prefix) + std::to_string(number);
}

// Removes a version: a crash on the way leaves no half of it that looks whole.
void Remove(const std::string& folder, const std::string& path, int64_t number) {
  std::error_code ignored;
  const std::string removed = PathIn(folder, Named(kRemoved, number));
  if (path != removed) {  // else what a crash on the way has left
    fs::remove_all(removed, ignored);
    Rename(path, removed);
  }
  fs::remove_all(removed, ignored);
}

}  // namespace

std::vector<VersionFolder> VersionFoldersIn(const std::string& folder) {
  std::vector<VersionFolder> versions;
  std::error_code error;
  if (fs::exists(PathIn(folder, kModelName), error)) return versions;
  ForEachIn(folder, [&](const std::string& name, const std::string& path) {
    const auto number = NumberOf(name);
    if (number && fs::exists(PathIn(path, kModelName), error))
      versions.push_back({*number, PathIn(folder, name), NewestDeltaIn(path)});
  });
  std::ranges::sort(versions, {}, &VersionFolder::number);
  return versions;
}

const VersionFolder* FindVersion(const std::vector<VersionFolder>& versions, int64_t number) {
  auto found = std::ranges::find(versions, number, &VersionFolder::number);
  if (found == versions.end())
    found = std::ranges::find_if(versions, [&](const VersionFolder& version) {
      return version.number < number && number <= version.newest();
    });
  return found == versions.end() ? nullptr : &*found;
}

std::string ListedVersions(const std::vector<VersionFolder>& versions) {
  std::string text;
  for (const VersionFolder& version : versions) {
    text += Format("{}{}", text.empty() ? "" : ", ", version.number);
    if (version.newest() > version.number) text += Format(" with deltas to {}", version.newest());
  }
  return text;
}

bool HoldsVersions(const std::string& folder) { return !VersionFoldersIn(folder).empty(); }

std::vector<int64_t> WithdrawnIn(const std::string& folder) {
  std::vector<int64_t> withdrawn;
  std::error_code error;
  ForEachIn(folder, [&](const std::string& name, const std::string& path) {
    const auto number = NumberBehind(kWithdrawn, name);
    if (number && fs::exists(PathIn(path, kModelName), error)) withdrawn.push_back(*number);
  });
  std::ranges::sort(withdrawn);
  return withdrawn;
}

bool HasHadVersions(const std::string& folder) {
  return HoldsVersions(folder) || !WithdrawnIn(folder).empty();
}

void CheckHasVersionsLeft(const std::string& folder) {
  const std::vector<int64_t> withdrawn = WithdrawnIn(folder);
  if (withdrawn.empty()) return;
  std::string names;
  for (const int64_t number : withdrawn)
    names += (names.empty() ? "" : ", ") + Named(kWithdrawn, number);
  throw Error(
      Format("{}: all versions in this folder are withdrawn ({}): mv {} {} makes the newest a "
             "version again, and tessera quantize CHECKPOINT -o {} writes the next one",
             folder, names, PathIn(folder, Named(kWithdrawn, withdrawn.back())),
             PathIn(folder, std::to_string(withdrawn.back())), folder));
}

std::string NewestVersionOf(const std::string& path) {
  const std::vector<VersionFolder> versions = VersionFoldersIn(path);
  return versions.empty() ? path : versions.back().path;
}

std::optional<VersionPlace> PlaceOfVersion(const std::string& path) {
  const fs::path normal = (fs::absolute(path) / "").lexically_normal().parent_path();
  const auto number = NumberOf(normal.filename().string());
  if (!number) return {};
  const std::string folder = FolderOf(normal.string());
  const std::vector<VersionFolder> versions = VersionFoldersIn(folder);
  if (std::ranges::count(versions, *number, &VersionFolder::number) == 0) return {};
  return VersionPlace{.folder = folder, .number = *number};
}

std::string FolderOfNumber(const std::string& folder, int64_t number) {
  std::error_code ignored;
  for (const std::string& name : {std::to_string(number), Named(kWithdrawn, number)})
    if (std::string path = PathIn(folder, name); fs::exists(path, ignored)) return path;
  return "";
}

int64_t HighestVersionIn(const std::string& folder) {
  int64_t highest = 0;
  ForEachIn(folder, [&](const std::string& name, const std::string& path) {
    if (const auto number = AnyNumberOf(name))
      highest = std::max({highest, *number, NewestDeltaIn(path)});
  });
  return highest;
}

namespace {

[[noreturn]] void ThrowNoVersion(const std::string& folder, int64_t number,
                                 const std::vector<VersionFolder>& versions) {
  for (const int64_t withdrawn : WithdrawnIn(folder)) {
    const std::string path = PathIn(folder, Named(kWithdrawn, withdrawn));
    if (number == withdrawn || (number > withdrawn && number <= NewestDeltaIn(path)))
      throw Error(Format("{}: version {} is withdrawn: mv {} {} makes it a version again", folder,
                         number, path, PathIn(folder, std::to_string(withdrawn))));
  }
  throw Error(
      Format("{}: there is no version {}, but {}", folder, number, ListedVersions(versions)));
}

// The number of the folder of the version that is to be the newest.
int64_t NumberToKeep(const std::string& folder, int64_t number,
                     const std::vector<VersionFolder>& versions) {
  const VersionFolder* const version = FindVersion(versions, number);
  if (version == nullptr) ThrowNoVersion(folder, number, versions);
  if (number != version->number && number != version->newest())
    throw Error(Format(
        "{}: version {} is a delta of version {}, which has deltas to {}: expected {} or "
        "{}, which are that version with all its deltas; deltas are not taken back",
        folder, number, version->number, version->newest(), version->number, version->newest()));
  return version->number;
}

}  // namespace

std::vector<int64_t> WithdrawAbove(const std::string& folder, int64_t number) {
  std::vector<VersionFolder> versions = VersionFoldersIn(folder);
  const int64_t kept = NumberToKeep(folder, number, versions);
  std::vector<int64_t> withdrawn;
  for (; versions.back().number > kept; versions.pop_back()) {
    const int64_t newest = versions.back().number;
    Rename(versions.back().path, PathIn(folder, Named(kWithdrawn, newest)));
    withdrawn.push_back(newest);
  }
  SyncFolder(folder);
  return withdrawn;
}

void RemoveOldVersions(const std::string& folder, int64_t keep) {
  const std::vector<VersionFolder> versions = VersionFoldersIn(folder);
  if (std::ssize(versions) < keep) return;
  const int64_t oldest = versions[versions.size() - static_cast<size_t>(keep)].number;
  std::vector<VersionFolder> old;
  ForEachIn(folder, [&](const std::string& name, const std::string& path) {
    const auto number = AnyNumberOf(name);
    if (number && *number < oldest) old.push_back({*number, path});
  });
  for (const VersionFolder& version : old) Remove(folder, version.path, version.number);
}

}  // namespace tessera
