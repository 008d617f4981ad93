#include "bench/harness/run_context.h"

#include <sys/utsname.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "bench/facts/cache_sizes.h"
#include "runtime/base/build_id.h"
#include "runtime/base/check.h"
#include "runtime/base/isa.h"
#include "runtime/base/process_text.h"

namespace tessera::bench {
namespace {

namespace fs = std::filesystem;

// The file's bytes; "" where it cannot be read.
std::string Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string FirstLine(const fs::path& path) {
  const std::string text = Contents(path);
  return text.substr(0, text.find('\n'));
}

std::string Command() {
  std::string text;
  for (const std::string& word : CommandWords()) text += (text.empty() ? "" : " ") + word;
  return text;
}

// The folder of git for a checkout's folder: .git, or what the file .git names.
fs::path GitFolder(const fs::path& checkout) {
  const fs::path git = checkout / ".git";
  if (fs::is_directory(git)) return git;
  const std::string line = FirstLine(git), key = "gitdir: ";
  return line.starts_with(key) ? checkout / line.substr(key.size()) : fs::path();
}

// The commit of "refs/heads/main", in a file of its own or among the packed ones; else the name.
std::string CommitOfRef(const fs::path& git, const std::string& ref) {
  const std::string commit = FirstLine(git / ref);
  if (!commit.empty()) return commit;
  std::ifstream packed(git / "packed-refs");
  for (std::string line; std::getline(packed, line);)
    if (line.ends_with(" " + ref)) return line.substr(0, line.find(' '));
  return ref;
}

// The commit of the checkout that the command runs in, as far as its files say.
std::string Commit() {
  std::error_code error;
  for (fs::path folder = fs::current_path(error); !folder.empty(); folder = folder.parent_path()) {
    const fs::path git = GitFolder(folder);
    if (!git.empty() && fs::exists(folder / "bench/topics.cc")) {
      const std::string head = FirstLine(git / "HEAD"), key = "ref: ";
      if (!head.starts_with(key)) return head;
      const std::string common = FirstLine(git / "commondir");
      return CommitOfRef(common.empty() ? git : git / common, head.substr(key.size()));
    }
    if (folder == folder.parent_path()) break;
  }
  return "unknown";
}

// The word in brackets of "always [madvise] never".
std::string HugePages() {
  const std::string text = FirstLine("/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t open = text.find('['), close = text.find(']');
  if (open == std::string::npos || close == std::string::npos) return "unknown";
  return text.substr(open + 1, close - open - 1);
}

// The rule that sets the clock of a core, such as "performance"; virtual machines seldom know it.
std::string Governor() {
  const std::string text = FirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  return text.empty() ? "unknown" : text;
}

std::string KernelRelease() {
  utsname names = {};
  return uname(&names) == 0 ? std::string(names.sysname) + " " + names.release : "unknown";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> RunContext() {
  return {{"time", UtcTimeText()},        {"command", Command()},
          {"commit", Commit()},           {"build", BuildId()},
          {"compiler", __VERSION__},      {"flags", TESSERA_BENCH_FLAGS},
          {"isa", ToString(ChosenIsa())}, {"caches", ToString(DataCaches())},
          {"huge_pages", HugePages()},    {"governor", Governor()},
          {"kernel", KernelRelease()}};
}

}  // namespace tessera::bench
