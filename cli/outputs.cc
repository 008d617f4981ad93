#include "cli/outputs.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "cli/files.h"
#include "cli/interrupt.h"
#include "runtime/base/check.h"
#include "runtime/files/atomic_file.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

// Whether the file has bytes that could be lost.
bool HoldsBytes(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && fs::file_size(path, error) > 0;
}

// Whether this file makes its folder readable: an index, or a file that can be read alone. A run
// that was killed before it wrote one left nothing that can be read.
bool IsSavedName(const std::string& name) {
  return name == "index.json" || name == "model.json" || name.ends_with(".npy") ||
         name.ends_with(".base.safetensors") || name.ends_with(".delta.safetensors") ||
         name.ends_with(".ranks.json");
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

// A file or folder there that no command makes, not even one that was killed; "" if there is none.
std::string StrangerIn(const std::string& folder) {
  std::vector<std::string> strangers;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool ours = IsSavedName(name) || name.starts_with('.') || name.ends_with(".tmp") ||
                      name.ends_with(".safetensors") || name.starts_with("tessera-") ||
                      (name.starts_with("rank-") && entry.is_directory(error));
    if (!ours) strangers.push_back(entry.path().string());
  }
  return strangers.empty() ? "" : *std::min_element(strangers.begin(), strangers.end());
}

// Whether two paths name one file or folder, which may not be there yet.
bool IsSame(const fs::path& path, const fs::path& other) {
  if (path.empty() || other.empty()) return false;
  std::error_code error;
  if (fs::equivalent(path, other, error)) return true;
  const fs::path a = fs::weakly_canonical(fs::absolute(path), error);
  return a == fs::weakly_canonical(fs::absolute(other), error);
}

// Whether a path is one of the files that make a folder what it is.
bool IsPartOf(const fs::path& path, const fs::path& folder) {
  const std::string name = path.filename().string();
  return (IsSavedName(name) || name.ends_with(".safetensors")) &&
         IsSame(fs::absolute(path).parent_path(), folder);
}

}  // namespace

void Outputs::CheckNothingIsLost(const std::string& path, const std::string& saved,
                                 const std::string& begun_from, const std::string& advice) const {
  if (overwrite_ || saved.empty() || IsSame(path, begun_from)) return;
  throw Error(
      Format("{}: {} is there, which this command did not begin from: {}name another path, or give "
             "--overwrite to replace it",
             path, saved == path ? "a file" : saved, advice.empty() ? "" : advice + "; else "));
}

// Throws for a folder of something else, --overwrite or not: it would be mixed with what is there.
void Outputs::CheckNoStranger(const std::string& path, const std::string& begun_from) {
  const std::string stranger = StrangerIn(path);
  if (stranger.empty() || IsSame(path, begun_from)) return;
  throw Error(Format(
      "{}: {} is there, which no command of tessera writes into such a folder: name a new folder, "
      "or an empty one",
      path, stranger));
}

// Throws if the path is one of the command's inputs, except the one that it goes on from, or one of
// its other outputs.
void Outputs::CheckApart(const std::string& path, const std::string& begun_from) const {
  for (const std::string& read : reads_) {
    std::error_code error;
    if (!fs::exists(read, error) || IsSame(read, begun_from)) continue;
    if (IsSame(path, read) || IsPartOf(path, read))
      throw Error(Format("{}: this command reads it: name another path to write to", path));
  }
  for (const std::string& written : written_)
    if (IsSame(path, written) || IsPartOf(path, written))
      throw Error(Format("{}: this command is told to write it twice: name another path", path));
}

// A "-" is a stream where it is read, and would be a file of that name here.
void Outputs::CheckIsNamed(const std::string& path) {
  if (path == "-")
    throw Error("-: expected a file's name to write to; /dev/stdout is standard output");
}

// A picture is SVG whatever it is called; viewers go by the name.
void Outputs::CheckIsNamedAsPicture(const std::string& path, const Report& report) {
  if (report.begins == nullptr || std::string_view(report.begins) != "<svg") return;
  const std::string ending = fs::path(path).extension().string();
  for (const char* other : {".png", ".pdf", ".jpg", ".jpeg", ".gif"})
    if (ending == other)
      throw Error(Format("{}: the picture is SVG: expected a name that ends in .svg, not in {}",
                         path, other));
}

void Outputs::CheckFile(const std::string& path) const {
  CheckIsNamed(path);
  if (!looks_only_) return CheckWritable(path);
  CheckIsNoDirectory(path);
  CheckMayBeWritten(path);
}

void Outputs::Lock(const std::string& path, OutputLock::Of of) {
  written_.push_back(path);
  if (looks_only_) return;
  EndCleanlyOnInterrupt();
  locks_.emplace_back(path, of);
}

void Outputs::AddFile(const std::string& path, const std::string& begun_from,
                      const std::string& advice) {
  if (path.empty()) return;
  CheckFile(path);
  if (IsStream(path)) return;
  CheckApart(path, begun_from);
  Lock(path, OutputLock::Of::kFile);
  CheckNothingIsLost(path, HoldsBytes(path) ? path : "", begun_from, advice);
}

void Outputs::AddLines(const std::string& path, const Report& report, bool goes_on) {
  if (path.empty()) return;
  CheckFile(path);
  if (IsStream(path)) return;
  CheckApart(path);
  Lock(path, OutputLock::Of::kFile);
  if (!goes_on) return CheckNothingIsLost(path, HoldsBytes(path) ? path : "", "");
  if (!overwrite_) CheckReplaced(path, report);
}

void Outputs::AddReport(const std::string& path, const Report& report) {
  if (path.empty()) return;
  CheckIsNamedAsPicture(path, report);
  CheckFile(path);
  if (IsStream(path)) return;
  CheckApart(path);
  CheckReplaced(path, report);
  written_.push_back(path);
}

void Outputs::AddFolder(const std::string& path, const std::string& begun_from,
                        const std::string& advice) {
  if (path.empty()) return;
  CheckIsNamed(path);
  CheckApart(path, begun_from);
  std::error_code ignored;  // the lock says what cannot be made
  if (looks_only_)
    CheckMayBeWritten(path);
  else
    fs::create_directories(fs::absolute(path).lexically_normal().parent_path(), ignored);
  Lock(path, OutputLock::Of::kFolder);
  const std::string saved = SavedIn(path);
  if (saved.empty()) CheckNoStranger(path, begun_from);
  CheckNothingIsLost(path, saved, begun_from, advice);
}

void AddOverwriteFlag(Command command, bool& overwrite) {
  command.Add(
      "--overwrite", overwrite,
      "Replace a model, data or metrics that another run saved where this command writes; without "
      "this flag such a file or folder is an error, and nothing is changed");
}

}  // namespace tessera::cli
