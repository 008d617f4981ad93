#include "cli/launch/launch_flags.h"

#include <algorithm>

#include "cli/config_flags.h"
#include "cli/rank_layout.h"
#include "runtime/base/check.h"
#include "runtime/base/process_text.h"
#include "sharding/exchange/dist_layout.h"
#include "train/checkpoint/saved_form.h"
#include "train/checkpoint/whole_tables.h"
#include "train/groups/rank_groups.h"
#include "train/ranks_plan.h"

namespace tessera::cli {
namespace {

constexpr int kRankTimeout = 3, kLongestStart = 7;  // seconds
constexpr char kLogFormat[] = "--log-format", kQuiet[] = "--quiet";

void CheckCommand(const LaunchFlags& flags) {
  const std::vector<std::string> line = CommandWords();
  if (flags.command.empty() || std::ranges::count(line, "--") == 0)
    throw Error(
        "expected tessera train and its flags after --, as in tessera launch --ranks 4 -- train "
        "--config FILE --checkpoint FOLDER");
  if (flags.command.front() != "train")
    throw Error(Format("'{}' after --: expected train, which alone goes on from checkpoints",
                       flags.command.front()));
}

void CheckTrain(const LaunchFlags& flags, const TrainWords& train) {
  if (train.flags.ranks)
    throw Error(
        "--ranks among train's flags, where it means threads of one process: give it to tessera "
        "launch, before --");
  if (train.Checkpoint().empty())
    throw Error(
        "train without --checkpoint: after the loss of a rank there would be nothing to go on "
        "from: give --checkpoint FOLDER, and --checkpoint-every STEPS to lose few steps");
  if (flags.max_restarts > 0 && !train.flags.evaluation.mllog.empty())
    throw Error(
        "--mllog: MLPerf's log is that of a run without restarts: leave it out, or give tessera "
        "launch --max-restarts 0");
  for (const auto& paths : {train.flags.data, train.flags.eval})
    if (std::ranges::count(paths, "-") > 0)
      throw Error("- among train's data: standard input can be read once, by one rank: give files");
}

void CheckRanks(const LaunchFlags& flags, int ranks) {
  if (ranks < flags.min_ranks)
    throw Error(Format("{} ranks are fewer than --min-ranks {}", ranks, flags.min_ranks));
}

// The configuration that the first start has; absent where a checkpoint of another form than ranks
// save it in has it.
std::optional<TrainConfig> ConfigOf(const TrainFlags& flags) {
  if (!flags.config.empty()) return WithFlags(ReadConfigFile(flags.config, flags.set), flags);
  if (flags.resume.empty() || !IsOfRanks(DetectForm(flags.resume))) return {};
  const ShardedCheckpoint checkpoint = OpenFolderOfRanks(flags.resume);
  const auto config = checkpoint.info().metadata.find("config");
  if (config == checkpoint.info().metadata.end()) return {};
  return WithFlags(ReadConfigText(config->second, flags.resume, flags.set), flags);
}

// Throws Error for a plan that does not fit each number of ranks that a restart may have.
void CheckPlan(const LaunchFlags& flags, const TrainFlags& train, int ranks) {
  if (!flags.WithFewerRanks() || train.plan.empty() || train.plan == "auto") return;
  if (train.sharding_group_size) return;  // it is for one group, of whatever number of ranks
  const std::optional<TrainConfig> config = ConfigOf(train);
  if (!config) return;
  for (int fewer = std::max(flags.min_ranks, ranks - flags.max_restarts); fewer < ranks; ++fewer)
    try {
      MakeRanksPlan(train.plan, {fewer, fewer}, ShapesOf(config->tables),
                    config->managed_collision);
    } catch (const Error& error) {
      throw Error(
          Format("with {} of {} ranks, as may be left after a loss, {}: give --restart-ranks all, "
                 "--min-ranks {}, or --plan auto to train",
                 fewer, ranks, error.what(), ranks));
    }
}

bool MayHaveFewer(const LaunchFlags& flags, int ranks) {
  return flags.WithFewerRanks() && flags.min_ranks < ranks;
}

// Throws Error where fewer ranks, as a restart may have, do not all fill the groups or nodes
// (`what`) whose size `flag` gives.
void CheckFewerFill(const LaunchFlags& flags, int ranks, const char* flag, const char* what,
                    int size) {
  if (!MayHaveFewer(flags, ranks) || size == 1) return;
  throw Error(
      Format("{} {} beside --restart-ranks left: fewer than {} ranks, as may be left, do not all "
             "fill {} of {}: give --restart-ranks all, or --min-ranks {}",
             flag, size, ranks, what, size, ranks));
}

// Throws Error for sharding groups that do not fit the ranks, or fewer that a restart may have.
void CheckGroups(const LaunchFlags& flags, const TrainFlags& train, int ranks) {
  if (!train.sharding_group_size) return;
  const int size = *train.sharding_group_size;
  CheckGroupSize(ranks, size);
  CheckFewerFill(flags, ranks, "--sharding-group-size", "groups", size);
}

// Throws Error for nodes that the ranks, or fewer that a restart may have, do not fill.
void CheckNodes(const LaunchFlags& flags, const TrainFlags& train, int ranks) {
  if (!train.ranks_per_node) return;
  const int size = *train.ranks_per_node;
  if (ranks % size != 0) throw Error(NodesError(ranks, size));
  CheckFewerFill(flags, ranks, "--ranks-per-node", "nodes", size);
}

// Throws Error for a record, which is of one number of ranks, beside fewer that may be left.
void CheckRecord(const LaunchFlags& flags, const TrainFlags& train, int ranks) {
  if (train.verify.empty() || !MayHaveFewer(flags, ranks)) return;
  throw Error(
      Format("--verify {} beside --restart-ranks left: the record is of {} ranks, and sums of the "
             "fewer that may be left are in another order: give --restart-ranks all, or "
             "--min-ranks {}",
             train.verify, ranks, ranks));
}

// Whether the words have a flag, with its value in the same word or in the next.
bool Has(const std::vector<std::string>& words, const std::string& flag) {
  return std::ranges::any_of(
      words, [&](const std::string& word) { return word == flag || word.starts_with(flag + "="); });
}

// The value of a flag that the words have.
std::string ValueIn(const std::vector<std::string>& words, const std::string& flag) {
  for (size_t w = 0; w < words.size(); ++w) {
    if (words[w].starts_with(flag + "=")) return words[w].substr(flag.size() + 1);
    if (words[w] == flag && w + 1 < words.size()) return words[w + 1];
  }
  return "";
}

// The words of this command line before --.
std::vector<std::string> OwnWords() {
  std::vector<std::string> words = CommandWords();
  words.erase(std::ranges::find(words, "--"), words.end());
  return words;
}

// Throws Error for a flag about restarts beside none.
void CheckRestarts(const LaunchFlags& flags) {
  if (flags.max_restarts > 0 || !Has(OwnWords(), "--restart-ranks")) return;
  throw Error(
      Format("--restart-ranks {} beside --max-restarts 0: nothing is started again; leave one of "
             "them out",
             flags.restart_ranks));
}

// The lines of launch and of its ranks have one format, whichever side of -- says it.
void ShareLog(std::vector<std::string>& words) {
  const std::vector<std::string> own = OwnWords();
  if (!Has(words, kLogFormat) && Has(own, kLogFormat))
    words.insert(words.end(), {kLogFormat, ValueIn(own, kLogFormat)});
  if (!Has(words, kQuiet) && Has(own, kQuiet)) words.emplace_back(kQuiet);
  SetLog({.format = ValueIn(words, kLogFormat), .quiet = Has(words, kQuiet)});
}

}  // namespace

std::vector<HostSlots> HostsOf(const LaunchFlags& flags) {
  if (!flags.hostfile.empty()) return ReadHostfile(flags.hostfile);
  if (!flags.ranks)
    throw Error("expected --ranks N, for ranks on this host, or --hostfile FILE, for several");
  return {{"", *flags.ranks}};
}

TrainWords CheckedTrain(const LaunchFlags& flags, int ranks) {
  CheckCommand(flags);
  CheckRestarts(flags);
  TrainWords train;
  train.words.assign(flags.command.begin() + 1, flags.command.end());
  ParseFlags("tessera train", train.words,
             [&](Command command) { AddTrainFlags(command, train.flags); });
  CheckTrain(flags, train);
  CheckRanks(flags, ranks);
  CheckGroups(flags, train.flags, ranks);
  CheckNodes(flags, train.flags, ranks);
  CheckRecord(flags, train.flags, ranks);
  CheckPlan(flags, train.flags, ranks);
  ShareLog(train.words);
  if (!train.flags.rank_timeout) {
    train.words.insert(train.words.end(), {"--rank-timeout", std::to_string(kRankTimeout)});
    train.flags.rank_timeout = kRankTimeout;
  }
  return train;
}

double LongestStop(const TrainWords& train) {
  const double timeout = *train.flags.rank_timeout;
  return timeout > 0 ? timeout + kLongestStart : 0;
}

void AddLaunchFlags(Command command, LaunchFlags& f) {
  command.Add("command", f.command, "tessera train and its flags, after --")
      .Value("-- train FLAGS");
  const Flag ranks = command.Add("--ranks", f.ranks, "Start N ranks on this host")
                         .Within(NumbersFrom(1, 1024))
                         .Value("N");
  command
      .Add("--hostfile", f.hostfile,
           "Start a rank in each slot of these hosts, a line HOST slots=N for each")
      .Excludes(ranks)
      .Value("FILE");
  command
      .Add("--max-restarts", f.max_restarts,
           "Start the training again at most K times after the loss of a rank")
      .Within(NumbersFrom(0, 1 << 20))
      .ShowDefault()
      .Value("K");
  command.Add("--min-ranks", f.min_ranks, "Do not go on with fewer ranks than this")
      .Within(NumbersFrom(1, 1024))
      .ShowDefault()
      .Value("M");
  command
      .Add("--restart-ranks", f.restart_ranks,
           "Go on with the ranks that are left, without the slots of those that were lost, or with "
           "all, as many as before")
      .OneOf({"left", "all"})
      .ShowDefault()
      .Value("left|all");
}

}  // namespace tessera::cli
