// tessera launch: tessera train on ranks that mpirun starts, which goes on from its last checkpoint
// when a rank is lost.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/launch/hosts.h"
#include "cli/launch/launch_flags.h"
#include "cli/launch/loss_text.h"
#include "cli/launch/mpirun.h"
#include "cli/launch/saved_training.h"
#include "cli/launch/temporary_folder.h"
#include "cli/show/log.h"
#include "cli/show/numbers.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "runtime/files/output_lock.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kFooter[] =
    "\n"
    "Examples:\n"
    "  tessera launch --ranks 4 -- train --config examples/planted.json --checkpoint folder \\\n"
    "    --checkpoint-every 100\n"
    "  tessera launch --hostfile hosts --min-ranks 4 --restart-ranks all -- train \\\n"
    "    --config examples/criteo.json --data clicks.tsv --plan auto --run runs/first\n"
    "\n"
    "Needs Open MPI. A rank is lost when it is killed or crashes, when it is stopped (SIGSTOP) for "
    "--rank-timeout, which is 3 s unless train's flags say otherwise, or when its host is silent "
    "for so long. The other ranks then end, and the training is started again with --resume from "
    "the last checkpoint that is complete, or from the beginning where there is none: what was "
    "trained before it is not read again, and nothing is left out. An error of the training, of "
    "its configuration or data, or an interruption starts nothing again.\n"
    "The exit code is that of tessera train, and 1 when no restart is left. SIGTERM, SIGHUP, "
    "SIGUSR1 and Ctrl-C go to one rank, which has all save and end; a further one after a second "
    "ends everything at once. If this process is killed, its ranks end, too.\n"
    "mpirun takes options from the environment, as OMPI_MCA_btl=self,vader. On several hosts the "
    "program, the data and the folder of the checkpoint have the same path on each. A host's name "
    "is that of a line of the hostfile; ranks fill the slots in order.\n"
    "Beside the checkpoint lies .NAME.launch while the ranks run: what they tell tessera launch.\n";

// The folder of the ranks' reports, which one launch at a time has.
std::string ReportsOf(const TrainWords& train) {
  const fs::path path = fs::path(train.Checkpoint()).lexically_normal();
  const fs::path name = path.has_filename() ? path.filename() : path.parent_path().filename();
  const fs::path folder =
      path.has_filename() ? path.parent_path() : path.parent_path().parent_path();
  return (folder / ("." + name.string() + ".launch")).string();
}

// Whether a launch has made what is called so in its folder: the reports of a start, or the hosts.
bool IsReport(const std::string& name) {
  return name.starts_with("hosts") || name.find_first_not_of("0123456789") == std::string::npos;
}

// Throws Error for a folder that is no launch's own: its files would be removed.
void CheckIsReports(const std::string& path) {
  const auto refuse = [&](const std::string& what) {
    throw Error(Format("{}: {}, where tessera launch keeps what its ranks tell it: move it away",
                       path, what));
  };
  if (std::error_code none; fs::is_symlink(path, none)) refuse("it is a link");
  if (!IsFolder(path)) return;  // the lock says what cannot be made
  for (const std::string& name : EntriesOf(path))
    if (!IsLockName(name) && !IsReport(name)) refuse(Format("{} is in it", name));
}

// Reports of one launch; the folder goes with it, also one that a killed launch has left.
class ReportsFolder {
 public:
  explicit ReportsFolder(const TrainWords& train)
      : path_(Made(ReportsOf(train))), lock_(std::in_place, path_, OutputLock::Of::kFolder) {
    Clear();
  }
  ~ReportsFolder() {
    Clear();
    lock_.reset();
    std::error_code ignored;  // another launch may have it by now
    fs::remove(path_, ignored);
  }
  ReportsFolder(const ReportsFolder&) = delete;
  ReportsFolder& operator=(const ReportsFolder&) = delete;
  std::string Of(int start) const { return PathIn(path_, std::to_string(start)); }
  std::string Hostfile() const { return PathIn(path_, "hosts"); }

 private:
  static std::string Made(const std::string& path) {
    CheckIsReports(path);
    std::error_code ignored;  // the lock says what cannot be made
    fs::create_directories(fs::absolute(path).parent_path(), ignored);
    return path;
  }
  void Clear() const {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_, ignored))
      if (IsReport(entry.path().filename().string())) fs::remove_all(entry.path(), ignored);
  }

  const std::string path_;
  std::optional<OutputLock> lock_;
};

class Launch {
 public:
  Launch(const LaunchFlags& flags, std::vector<HostSlots> hosts, const TrainWords& train)
      : flags_(flags),
        train_(train),
        hosts_(std::move(hosts)),
        mpirun_(FindMpirun()),
        reports_(train),
        saved_(train),
        words_(train.words) {}

  int Run();

 private:
  MpirunEnd Start();
  void GoOn(const Loss& loss);
  void LoseHosts(const Loss& loss);
  void WaitForFolder() const;
  int Interrupt(int code) const;
  std::string From() const;

  const LaunchFlags& flags_;
  const TrainWords& train_;
  std::vector<HostSlots> hosts_;
  const std::string mpirun_;
  const ReportsFolder reports_;
  const SavedTraining saved_;
  std::vector<std::string> words_;
  int restarts_ = 0;
};

MpirunEnd Launch::Start() {
  MpirunStart start = {.mpirun = mpirun_,
                       .ranks = RanksOf(hosts_),
                       .hostfile = {},
                       .words = words_,
                       .reports = reports_.Of(restarts_),
                       .longest_stop_s = LongestStop(train_)};
  start.words.insert(start.words.begin(), "train");
  if (!flags_.hostfile.empty()) {
    start.hostfile = reports_.Hostfile();
    ReplaceTextFile(start.hostfile, HostfileText(hosts_));
  }
  return RunMpirun(start);
}

// "step 120 of ckpt", or "the beginning".
std::string Launch::From() const {
  const std::optional<TrainingProgress> progress = saved_.Progress();
  return progress ? Format("step {} of {}", progress->step, train_.Checkpoint()) : "the beginning";
}

// A process of a lost host may end later than mpirun: it must not write beside the new ranks.
void Launch::WaitForFolder() const {
  constexpr auto kLongest = std::chrono::seconds(60);
  const auto last = std::chrono::steady_clock::now() + kLongest;
  for (;;) {
    const std::string holder = LockHolder(train_.Checkpoint(), OutputLock::Of::kFolder);
    if (holder.empty() || Interrupted()) return;
    if (std::chrono::steady_clock::now() > last)
      throw Error(Format("{}: {} still writes it, although its ranks were to end: end it; {}",
                         train_.Checkpoint(), holder, saved_.HowToGoOn()));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void Launch::LoseHosts(const Loss& loss) {
  if (flags_.restart_ranks == "all") return;
  std::vector<LostRank> lost = loss.ranks;
  if (lost.empty()) lost.push_back({RanksOf(hosts_) - 1, ""});  // nobody knows which one
  hosts_ = WithoutLost(hosts_, lost);
}

// Throws Error where it does not go on.
void Launch::GoOn(const Loss& loss) {
  WaitForFolder();
  LoseHosts(loss);
  const int ranks = RanksOf(hosts_);
  if (restarts_ == flags_.max_restarts)
    throw Error(Format("{}, and {} is used up: {}", loss.text,
                       restarts_ == 0 ? "--max-restarts 0"
                                      : Format("the last of {}", Counted(restarts_, "restart")),
                       saved_.HowToGoOn()));
  if (ranks < flags_.min_ranks)
    throw Error(Format("{}; {} left, fewer than --min-ranks {}: {}", loss.text,
                       ranks == 1 ? "1 rank is" : Format("{} ranks are", ranks), flags_.min_ranks,
                       saved_.HowToGoOn()));
  ++restarts_;
  words_ = saved_.NextWords();
  Warn(Format("launch: {}; going on with {} from {} (restart {} of {})", loss.text,
              Counted(ranks, "rank"), From(), restarts_, flags_.max_restarts),
       {{"ranks", ranks}, {"restart", restarts_}, {"restarts", flags_.max_restarts}});
}

int Launch::Interrupt(int code) const {
  if (code == 0 || code == 1) return code;  // it had finished, or could not save
  return InterruptedExit(InterruptSignal());
}

int Launch::Run() {
  for (;;) {
    const MpirunEnd end = Start();
    const std::optional<Loss> loss = LossOf(end);
    if (Interrupted()) return Interrupt(loss ? 128 : end.code);
    if (end.mpirun_was_killed)
      throw Error(
          Format("mpirun itself was killed by signal {}: {}", end.code - 128, saved_.HowToGoOn()));
    if (end.code == 0 || !loss) return end.code;
    GoOn(*loss);
    if (Interrupted()) return Interrupt(128);
  }
}

int RunLaunch(const LaunchFlags& flags) {
  if (UnderMpirun()) throw Error("tessera launch starts mpirun itself: leave mpirun out");
  std::vector<HostSlots> hosts = HostsOf(flags);
  const TrainWords train = CheckedTrain(flags, RanksOf(hosts));
  FindMpirun();
  CheckTemporaryFolder();
  WatchForInterrupt();
  return Launch(flags, std::move(hosts), train).Run();
}

}  // namespace

void AddLaunchCommand(Command app) {
  Command command = app.AddCommand(
      "launch",
      "Run tessera train on several ranks by mpirun, and go on from its last checkpoint when a "
      "rank is lost.");
  const auto flags = std::make_shared<LaunchFlags>();
  AddLaunchFlags(command, *flags);
  command.Footer(kFooter);
  command.Run([flags] { return RunLaunch(*flags); });
}

}  // namespace tessera::cli
