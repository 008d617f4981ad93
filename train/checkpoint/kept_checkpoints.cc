#include "train/checkpoint/kept_checkpoints.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/parse_number.h"
#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "sharding/checkpoint/checkpoint.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/checkpoint_files.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".safetensors", kStep = ".step-";

// The texts before and behind ".step-00001000". Links are followed, as a save follows them.
struct Name {
  std::string folder, front, back;
};

Name NameOf(std::string checkpoint) {
  while (checkpoint.size() > 1 && checkpoint.ends_with('/')) checkpoint.pop_back();
  const fs::path path = fs::weakly_canonical(fs::absolute(checkpoint));
  Name name = {path.parent_path().string(), path.filename().string(), ""};
  if (!name.front.ends_with(kSuffix)) return name;
  name.front.resize(name.front.size() - kSuffix.size());
  name.back = kSuffix;
  return name;
}

// The step of a kept checkpoint's file name; absent for others.
std::optional<int64_t> StepIn(const Name& name, std::string_view file) {
  const std::string front = name.front + std::string(kStep);
  if (!file.starts_with(front) || !file.ends_with(name.back)) return {};
  if (file.size() <= front.size() + name.back.size()) return {};
  const std::string_view digits =
      file.substr(front.size(), file.size() - front.size() - name.back.size());
  int64_t step = 0;
  if (!ParseNumber(digits, step) || step < 0 || FileNumber(step) != digits) return {};
  return step;
}

bool IsOfOthers(const KeptCheckpoint& kept, std::optional<int64_t> past) {
  return !past || kept.step > *past;
}

// The step of a checkpoint in one file or of ranks; absent where it holds weights alone.
std::optional<int64_t> StepOf(const std::string& path) {
  const auto progress = fs::is_directory(path)
                            ? ParseProgress(ShardedCheckpoint(path).info().metadata)
                            : ParseProgress(SafetensorsFile(path).metadata());
  if (!progress) return {};
  return progress->step;
}

// Removes a folder's index first: what an end in here leaves is no checkpoint.
void RemoveKept(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path)) fs::remove(PathIn(path, kIndexName), error);
  if (!error) fs::remove_all(path, error);
  if (error) throw Error(Format("{}: cannot be removed: {}", path, error.message()));
}

void Link(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (error)
    throw Error(Format("{}: cannot be kept as {}: no hard link can be made: {}", from, to,
                       error.message()));
}

// Links the files of the save that counts, its index last.
void LinkFolder(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::create_directory(to, error);
  if (error) throw Error(Format("{}: cannot be made: {}", to, error.message()));
  const ShardedCheckpoint saved(from);
  for (const auto& file : saved.index().files) Link(PathIn(from, file.name), PathIn(to, file.name));
  SyncFolder(to);
  Link(PathIn(from, kIndexName), PathIn(to, kIndexName));
  SyncFolder(to);
}

}  // namespace

std::string KeptPath(const std::string& checkpoint, int64_t step) {
  const Name name = NameOf(checkpoint);
  return PathIn(name.folder, name.front + std::string(kStep) + FileNumber(step) + name.back);
}

std::vector<KeptCheckpoint> KeptBeside(const std::string& checkpoint) {
  const Name name = NameOf(checkpoint);
  std::vector<KeptCheckpoint> kept;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(name.folder, none))
    if (const auto step = StepIn(name, entry.path().filename().string()))
      kept.push_back({*step, entry.path().string()});
  std::ranges::sort(kept, {}, &KeptCheckpoint::step);
  return kept;
}

std::vector<KeptCheckpoint> KeptByOthers(const std::string& checkpoint,
                                         std::optional<int64_t> past) {
  std::vector<KeptCheckpoint> kept = KeptBeside(checkpoint);
  std::erase_if(kept, [&](const KeptCheckpoint& earlier) { return !IsOfOthers(earlier, past); });
  return kept;
}

bool IsKeptPath(const std::string& checkpoint, const std::string& path) {
  const Name name = NameOf(checkpoint), other = NameOf(path);
  return name.folder == other.folder && StepIn(name, other.front + other.back).has_value();
}

KeptCheckpoints::KeptCheckpoints(std::string checkpoint, std::optional<int64_t> keep,
                                 std::optional<int64_t> past)
    : checkpoint_(std::move(checkpoint)), keep_(keep), last_(past) {
  TESSERA_CHECK(!keep_ || *keep_ >= 1, "{}: checkpoints to keep: expected at least 1, got {}",
                checkpoint_, *keep_);
}

void KeptCheckpoints::BeforeSave(int64_t step) const {
  if (!keep_ || keep_ == 1 || !last_ || !fs::exists(checkpoint_)) return;
  const std::string from = fs::canonical(checkpoint_).string();
  const std::optional<int64_t> there = StepOf(from);
  if (!there || *there > *last_ || *there >= step) return;
  const std::string to = KeptPath(checkpoint_, *there);
  if (fs::is_directory(from)) {
    RemoveKept(to);
    LinkFolder(from, to);
  } else if (!fs::exists(to) || !fs::equivalent(from, to)) {
    RemoveKept(to);
    Link(from, to);
  }
  SyncFolder(FolderOf(to));
}

void KeptCheckpoints::AfterSave(int64_t step) {
  std::vector<KeptCheckpoint> kept = KeptBeside(checkpoint_);
  std::erase_if(kept, [&](const KeptCheckpoint& earlier) {
    if (!IsOfOthers(earlier, last_) && earlier.step < step) return false;
    RemoveKept(earlier.path);
    return true;
  });
  last_ = step;
  if (!keep_) return;
  for (size_t i = 0; i + static_cast<size_t>(*keep_ - 1) < kept.size(); ++i)
    RemoveKept(kept[i].path);
}

}  // namespace tessera
