#include "cli/sweep/sweep_plan.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "cli/config_flags.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "runtime/json/json_fields.h"
#include "train/config/config_keys.h"

namespace tessera::cli {
namespace {

using internal::Json;

constexpr char kVersionKey[] = "tessera_sweep";
constexpr int64_t kVersion = 1;
constexpr size_t kLongestName = 150, kMaxTrials = 10'000;

void CheckOptions(const TrainFlags& train) {
  const std::pair<const char*, bool> own[] = {{"--run", !train.run.empty()},
                                              {"--seed", train.seed.has_value()},
                                              {"--checkpoint", !train.checkpoint.empty()},
                                              {"--best", !train.evaluation.best.empty()},
                                              {"--json", !train.json.empty()},
                                              {"--metrics", !train.metrics.empty()},
                                              {"--resume", !train.resume.empty()},
                                              {"--overwrite", train.overwrite},
                                              {"--other-data", train.other_data},
                                              {"--dry-run", train.dry_run}};
  for (const auto& [option, given] : own)
    if (given)
      throw Error(Format("{} after --: tessera sweep says that of each trial: leave it out{}",
                         option, option == std::string("--seed") ? ", and give --seeds" : ""));
  const std::pair<const char*, bool> shared[] = {{"--tensorboard", !train.tensorboard.empty()},
                                                 {"--trace", !train.trace.empty()},
                                                 {"--mllog", !train.evaluation.mllog.empty()}};
  for (const auto& [option, given] : shared)
    if (given)
      throw Error(Format("{} after --: all trials would write to one place: leave it out", option));
  for (const auto& paths : {train.data, train.eval})
    if (std::ranges::count(paths, "-") > 0)
      throw Error("- after --: standard input can be read once, and each trial reads its data");
}

void CheckKeys(const std::vector<SweepSetting>& settings, const std::vector<int64_t>& seeds,
               const std::optional<Halving>& halving, const TrainFlags& train) {
  if (halving && train.epochs)
    throw Error("--epochs after -- beside --halving: give --epochs FIRST:LAST before --");
  for (const std::string& set : train.set) {
    const std::string given = SplitSetting(set).path;
    if (given == "train.epochs" && halving)
      throw Error(Format("--set {} beside --halving: leave one of them out", set));
    if (given == "train.seed" && !seeds.empty())
      throw Error(Format("--set {} beside --seeds: leave one of them out", set));
    for (const ConfigSetting& key : settings.front())
      if (SetsAllOf(key.path, given))
        throw Error(Format("--set {} beside the sweep's {}: leave one of them out", set, key.path));
  }
  for (const ConfigSetting& key : settings.front())
    if (SetsAllOf(key.path, "train.seed"))
      throw Error(Format("{} sets the seed: give --seeds", key.path));
  for (const ConfigSetting& key : settings.front())
    if (halving && SetsAllOf(key.path, "train.epochs"))
      throw Error(
          Format("{} beside --halving, which sets the epochs: leave one of them out", key.path));
}

std::string LastPart(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// The last part of a path where no other key has the same, else the path.
std::string LabelOf(const SweepSetting& setting, const std::string& path) {
  const auto same = [&](const ConfigSetting& key) { return LastPart(key.path) == LastPart(path); };
  return std::ranges::count_if(setting, same) == 1 ? LastPart(path) : path;
}

// "03-lr=0.1-seed=2". The number makes it the trial's alone, whatever is left out of its values.
std::string NameOf(const Trial& trial, size_t number, size_t count) {
  std::string name = std::to_string(number);
  name.insert(0, std::to_string(count).size() - name.size(), '0');
  for (const ConfigSetting& key : trial.settings)
    name += "-" + LabelOf(trial.settings, key.path) + "=" + key.value;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 &&
        std::string("-_=.,+").find(c) == std::string::npos)
      c = '_';
  name.resize(std::min(name.size(), kLongestName));
  return trial.seed ? Format("{}-seed={}", name, *trial.seed) : name;
}

std::vector<std::string> SetWords(const SweepSetting& setting) {
  std::vector<std::string> words;
  for (const ConfigSetting& key : setting) words.push_back(key.path + "=" + key.value);
  return words;
}

TrainConfig ConfigOf(const std::string& text, TrainFlags train, const Trial& trial) {
  std::vector<std::string> set = train.set;
  std::ranges::copy(SetWords(trial.settings), std::back_inserter(set));
  train.seed = trial.seed;
  return WithFlags(ReadConfigText(text, train.config, set), train);
}

// A trial for each setting and seed.
std::vector<Trial> TrialsOf(const std::vector<SweepSetting>& settings,
                            const std::vector<int64_t>& seeds, const std::string& config_text,
                            const TrainFlags& train) {
  const size_t runs = std::max<size_t>(1, seeds.size()), count = settings.size() * runs;
  if (count > kMaxTrials)
    throw Error(Format("expected at most {} trials, got {}", kMaxTrials, count));
  std::vector<Trial> trials(count);
  for (size_t t = 0; t < count; ++t) {
    Trial& trial = trials[t];
    trial.setting = t / runs;
    trial.settings = settings[trial.setting];
    if (!seeds.empty()) trial.seed = seeds[t % runs];
    trial.name = NameOf(trial, t + 1, count);
    try {
      trial.config = ConfigOf(config_text, train, trial);
    } catch (const Error& error) {
      throw Error(Format("trial {}: {}", trial.name, error.what()));
    }
  }
  return trials;
}

void CheckDiffer(const std::vector<Trial>& trials) {
  std::map<std::string, std::string> names;
  for (const Trial& trial : trials)
    if (const auto [same, added] = names.try_emplace(ToJson(trial.config), trial.name); !added)
      throw Error(
          Format("trials {} and {} are one training: their values say the same, or an option after "
                 "-- takes precedence over them",
                 same->second, trial.name));
}

Json TrialJson(const Trial& trial) {
  Json json = {{"name", trial.name}, {"settings", Json::object()}};
  for (const ConfigSetting& key : trial.settings) json["settings"][key.path] = key.value;
  json["seed"] = trial.config.seed;
  return json;
}

Json DocumentOf(const SweepFlags& flags, const std::vector<std::string>& words,
                const std::vector<int64_t>& seeds, const std::vector<Trial>& trials) {
  const Json halving = flags.halving ? Json(*flags.halving) : Json();
  Json json = {{kVersionKey, kVersion},
               {"asked",
                {{"options of tessera train", words},
                 {"--grid", flags.grid},
                 {"--range", flags.ranges},
                 {"--random", flags.random},
                 {"--sweep-seed", flags.sweep_seed},
                 {"--seeds", seeds},
                 {"--halving", halving},
                 {"--epochs", flags.epochs}}},
               {"config", internal::ParseJson(ToJson(trials.front().config))},
               {"trials", Json::array()}};
  for (const Trial& trial : trials) json["trials"].push_back(TrialJson(trial));
  return json;
}

// The first rung has all trials.
Json FirstRungs(const Halving& halving, size_t trials) {
  std::vector<size_t> all(trials);
  std::iota(all.begin(), all.end(), size_t{0});
  return Json::array({{{"epochs", halving.first}, {"trials", all}}});
}

Json ReadSweepDocument(const std::string& path) {
  return internal::ReadDocument(ReadTextFile(path), path, [](Json json) {
    internal::JsonObject document(json, "");
    internal::CheckVersion(document, kVersionKey, kVersion);
    if (const Json& asked = document.Require("asked"); !asked.is_object())
      internal::ThrowExpected("asked", "an object", asked);
    document.Require("config");
    constexpr char kSome[] = "a list of one or more";
    if (document.Has("rungs") && internal::RequireList(json["rungs"], "rungs", kSome).empty())
      internal::ThrowExpected("rungs", kSome, json["rungs"]);
    return json;
  });
}

void CheckNoOtherFiles(const std::string& folder) {
  if (!IsThere(folder)) return;
  if (!IsFolder(folder))
    throw Error(Format("{}: it is a file; expected a folder for the sweep", folder));
  for (const std::string& name : EntriesOf(folder))
    if (!name.starts_with('.'))
      throw Error(Format("{}: {} is there, and no sweep: name another folder", folder, name));
}

}  // namespace

TrainFlags ParseTrainOptions(const std::vector<std::string>& words) {
  TrainFlags train;
  ParseFlags("tessera train", words, [&](Command command) { AddTrainFlags(command, train); });
  CheckOptions(train);
  if (train.config.empty())
    throw Error("no configuration: give tessera train's options after --, as -- --config FILE");
  return train;
}

SweepPlan MakeSweepPlan(const SweepFlags& flags, const std::vector<std::string>& words,
                        TrainFlags train) {
  const std::vector<SweepSetting> settings = SettingsOf(flags);
  const std::vector<int64_t> seeds = ParseSeeds(flags.seeds);
  const std::optional<Halving> halving = ParseHalving(flags);
  if (settings.front().empty() && seeds.empty())
    throw Error("nothing to sweep over: give --grid, --random with --range, or --seeds");
  CheckKeys(settings, seeds, halving, train);
  if (halving) train.epochs = halving->first;
  SweepPlan plan{
      .config_text = ReadTextFile(train.config), .trials = {}, .halving = halving, .document = {}};
  plan.trials = TrialsOf(settings, seeds, plan.config_text, train);
  CheckDiffer(plan.trials);
  plan.document = DocumentOf(flags, words, seeds, plan.trials);
  if (halving) plan.document["rungs"] = FirstRungs(*halving, plan.trials.size());
  return plan;
}

void GoOnWithSweep(const std::string& folder, SweepPlan& plan) {
  const std::string path = PathIn(folder, kSweepDocument);
  if (!IsThere(path)) return CheckNoOtherFiles(folder);
  const Json was = ReadSweepDocument(path);
  for (const auto& [key, value] : plan.document.at("asked").items())
    if (const Json before = was.at("asked").value(key, Json()); before != value)
      throw Error(
          Format("{}: its sweep began with {} {}, but this command says {}: name another "
                 "folder",
                 folder, key, before.dump(), value.dump()));
  const TrainConfig config = ParseTrainConfig(was.at("config").dump(), path);
  for (const auto& [before, now] : Differences(KeysOf(config), KeysOf(plan.trials.front().config)))
    throw Error(Format(
        "{}: its sweep began with {} {}, but the configuration now says {}: name "
        "another folder",
        folder, ToString(before.key.empty() ? now : before),
        before.value.empty() ? "none" : before.value, now.value.empty() ? "none" : now.value));
  plan.document = was;
}

void WriteSweepDocument(const std::string& folder, const SweepPlan& plan) {
  ReplaceTextFile(PathIn(folder, kSweepDocument), plan.document.dump(2) + "\n");
}

std::vector<std::string> TrialWords(const Trial& trial, const std::vector<std::string>& words,
                                    const std::string& config, const std::string& run) {
  std::vector<std::string> all = {"train", "--config", config};
  for (size_t w = 0; w < words.size(); ++w) {
    if (words[w] == "--config")
      ++w;
    else if (!words[w].starts_with("--config="))
      all.push_back(words[w]);
  }
  for (const std::string& set : SetWords(trial.settings)) all.insert(all.end(), {"--set", set});
  if (trial.seed) all.insert(all.end(), {"--seed", std::to_string(*trial.seed)});
  all.insert(all.end(), {"--run", run});
  return all;
}

}  // namespace tessera::cli
