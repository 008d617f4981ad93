#include "cli/outputs.h"

#include <algorithm>
#include <filesystem>

#include "cli/files.h"
#include "cli/interrupt.h"
#include "runtime/check.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

// Whether losing it would lose anything. A pipe or a terminal is nothing that is kept.
bool HoldsBytes(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && fs::file_size(path, error) > 0;
}

// What makes the files of a folder a whole: an index, or a file that is one by itself. Files that a
// killed run left without it are nothing that can be read.
bool IsSavedName(const std::string& name) {
  return name == "index.json" || name == "model.json" || name.ends_with(".npy") ||
         name.ends_with(".base.safetensors") || name.ends_with(".delta.safetensors");
}

// A model's or data's file in a folder; "" if there is none.
std::string SavedIn(const std::string& folder) {
  std::vector<std::string> saved;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, error))
    if (IsSavedName(file.path().filename().string()) && HoldsBytes(file.path()))
      saved.push_back(file.path().string());
  return saved.empty() ? "" : *std::min_element(saved.begin(), saved.end());
}

bool IsSame(const std::string& path, const std::string& other) {
  std::error_code error;
  return !other.empty() && fs::equivalent(path, other, error) && !error;
}

}  // namespace

void Outputs::CheckNothingIsLost(const std::string& path, const std::string& saved,
                                 const std::string& begun_from) const {
  if (overwrite_ || saved.empty() || IsSame(path, begun_from)) return;
  throw Error(
      Format("{}: {} is there, which this command did not begin from: name another path, or give "
             "--overwrite to replace it",
             path, saved == path ? "a file" : saved));
}

void Outputs::AddFile(const std::string& path, const std::string& begun_from) {
  if (path.empty()) return;
  EndCleanlyOnInterrupt();
  CheckWritable(path);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) return;
  OutputLock lock(path, OutputLock::Of::kFile);
  CheckNothingIsLost(path, HoldsBytes(path) ? path : "", begun_from);
  locks_.push_back(std::move(lock));
}

void Outputs::AddFolder(const std::string& path, const std::string& begun_from) {
  if (path.empty()) return;
  EndCleanlyOnInterrupt();
  std::error_code ignored;  // the lock says what cannot be made
  fs::create_directories(fs::absolute(path).lexically_normal().parent_path(), ignored);
  OutputLock lock(path, OutputLock::Of::kFolder);
  CheckNothingIsLost(path, SavedIn(path), begun_from);
  locks_.push_back(std::move(lock));
}

void AddOverwriteFlag(CLI::App& command, bool& overwrite) {
  command.add_flag(
      "--overwrite", overwrite,
      "Replace a model, data or metrics that another run saved where this command writes; without "
      "this flag such a file or folder is an error, and nothing is changed");
}

}  // namespace tessera::cli
