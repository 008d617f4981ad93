#include "comm/mpi/job_processes.h"

#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "comm/rank_process.h"
#include "runtime/base/check.h"

namespace tessera::internal {
namespace {

constexpr std::string_view kJob = "PMIX_NAMESPACE=", kRank = "PMIX_RANK=",
                           kOpenMpiLocal = "OMPI_COMM_WORLD_LOCAL_RANK=",
                           kSlurmLocal = "SLURM_LOCALID=";

// A file of /proc/PID.
std::string PathOf(pid_t pid, const char* file) {
  return Format("/proc/{}/{}", int64_t{pid}, std::string_view(file));
}

struct Process {
  pid_t parent = 0;
  bool readable = false;     // its environment
  std::optional<int> rank;   // absent for a process of another job
  std::optional<int> local;  // the place among the ranks of its host
};

void ReadEnvironment(pid_t pid, const std::string& job, Process& process) {
  std::ifstream file(PathOf(pid, "environ"));
  process.readable = file.is_open();
  std::optional<int> rank, open_mpi, slurm;
  bool of_job = false;
  for (std::string text; std::getline(file, text, '\0');) {
    const auto take = [&](std::string_view name, std::optional<int>& number) {
      if (text.starts_with(name)) number = std::atoi(text.c_str() + name.size());
    };
    take(kRank, rank);
    take(kOpenMpiLocal, open_mpi);
    take(kSlurmLocal, slurm);
    of_job |= text.starts_with(kJob) && text.substr(kJob.size()) == job;
  }
  if (!of_job) return;
  process.rank = rank;
  process.local = open_mpi ? open_mpi : slurm;
}

pid_t ParentOf(pid_t pid) {
  std::ifstream file(PathOf(pid, "stat"));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');  // a name may have brackets
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string state;
  pid_t parent = 0;
  fields >> state >> parent;
  return parent;
}

std::map<pid_t, Process> AllProcesses(const std::string& job) {
  std::map<pid_t, Process> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  if (!folder) return all;
  while (const dirent* entry = readdir(folder.get()))
    if (const int pid = std::atoi(entry->d_name); pid > 0) {
      Process& process = all[pid];
      process.parent = ParentOf(pid);
      ReadEnvironment(pid, job, process);
    }
  return all;
}

std::string TargetOf(const std::string& link) {
  char text[4096];
  const ssize_t size = readlink(link.c_str(), text, sizeof text);
  return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
}

// The process that started the job's ranks here, this one's first ancestor that is none of them; 0
// if it cannot be seen, as from a container of a rank's own.
pid_t LauncherIn(const std::map<pid_t, Process>& all) {
  const pid_t self = std::atoi(TargetOf("/proc/self").c_str());
  pid_t pid = self;
  for (auto found = all.find(pid); found != all.end(); found = all.find(pid)) {
    if (!found->second.rank) return pid == self ? 0 : pid;
    pid = found->second.parent;
  }
  return 0;
}

// Whether the launcher's child, which is no process of the job, may become one: it runs the
// launcher's program still, or nobody sees what it is.
bool MayBecomeRank(pid_t pid, const Process& process, pid_t launcher) {
  if (StateOf(pid) == 'Z') return false;
  return !process.readable || TargetOf(PathOf(pid, "exe")) == TargetOf(PathOf(launcher, "exe"));
}

bool Complete(const std::map<pid_t, Process>& all) {
  const pid_t launcher = LauncherIn(all);
  if (launcher == 0 || StateOf(launcher) == 'T') return false;
  for (const auto& [pid, process] : all)
    if (process.parent == launcher && !process.rank && MayBecomeRank(pid, process, launcher))
      return false;
  return true;
}

std::string JobOfThisProcess() {
  const char* job = std::getenv("PMIX_NAMESPACE");
  return job == nullptr ? "" : job;
}

}  // namespace

bool InPmixJob() { return !JobOfThisProcess().empty(); }

JobProcesses FindJobProcesses() {
  const std::map<pid_t, Process> all = AllProcesses(JobOfThisProcess());
  JobProcesses found;
  found.complete = Complete(all);
  for (const auto& [pid, process] : all) {
    if (!process.rank) continue;
    found.ranks.emplace(pid, *process.rank);
    if (process.local)
      found.local_ranks.insert(*process.local);
    else
      found.complete = false;
  }
  return found;
}

}  // namespace tessera::internal
