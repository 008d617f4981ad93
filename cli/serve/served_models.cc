#include "cli/serve/served_models.h"

#include <cstdio>
#include <exception>
#include <map>
#include <utility>

#include "cli/show/error_text.h"
#include "cli/show/log.h"
#include "cli/show/numbers.h"
#include "runtime/base/check.h"
#include "runtime/files/files.h"
#include "train/checkpoint/saved_form.h"
#include "train/checkpoint/version_folders.h"

namespace tessera::cli {
namespace {

using serve::ModelVersions;

constexpr char kModel[] = "model", kStatistics[] = "stats";  // /v2/models/stats is a path

// "NAME=VALUE" in two; the name is "" where there is none. A name has no slash, but a path may
// have an equals sign.
std::pair<std::string, std::string> Parted(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || text.find('/') < equals) return {"", text};
  if (equals == 0) throw Error(Format("{}: expected a name before the =, got none", text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

struct NamedDirectory {
  std::string name, directory;
};

void CheckName(const std::string& name) {
  if (name.empty() || name == kStatistics || name.find('/') != name.npos)
    throw Error(Format("model name '{}': expected one that is not empty, not {}, and without /",
                       name, kStatistics));
}

std::vector<NamedDirectory> ReadModels(const ModelFlags& flags) {
  std::vector<NamedDirectory> models;
  std::map<std::string, int> count;
  for (const std::string& text : flags.models) {
    auto [name, directory] = Parted(text);
    if (!name.empty() && !flags.name.empty())
      throw Error(Format("--name {}: {} has a name already", flags.name, text));
    if (name.empty() && flags.models.size() > 1)
      throw Error(
          Format("{}: expected a name for each of several models, as in a=DIR b=DIR", text));
    if (name.empty()) name = flags.name.empty() ? kModel : flags.name;
    CheckName(name);
    if (++count[name] > 1) throw Error(Format("{}: another model has this name", text));
    models.push_back({name, directory});
  }
  return models;
}

// fn(model, text, value) for each model that a flag's "NAME=VALUE" or "VALUE" is of.
template <typename Fn>
void ForModels(const std::string& flag, const std::vector<std::string>& texts,
               const std::vector<NamedDirectory>& models, Fn fn) {
  for (const std::string& text : texts) {
    const auto [name, value] = Parted(text);
    bool known = false;
    for (const NamedDirectory& model : models) {
      if (!name.empty() && name != model.name) continue;
      known = true;
      fn(model, text, value);
    }
    if (!known) throw Error(Format("{} {}: there is no model {}", flag, text, name));
  }
}

using Policies = std::map<std::string, serve::VersionPolicy>;  // by the models' names

void ReadVersions(const ModelFlags& flags, const std::vector<NamedDirectory>& models,
                  Policies& policies) {
  ForModels("--versions", flags.versions, models,
            [&](const NamedDirectory& model, const std::string& text, const std::string& value) {
              if (!HoldsVersions(model.directory))
                throw Error(
                    Format("--versions {}: {} is no folder of versions (tessera quantize --keep "
                           "makes one)",
                           text, model.directory));
              if (!policies.emplace(model.name, serve::ParseVersionPolicy(value)).second)
                throw Error(
                    Format("--versions {}: those of model {} were said before", text, model.name));
            });
}

void ReadShares(const std::string& flag, const std::vector<std::string>& texts,
                serve::TrafficShare serve::VersionPolicy::*share,
                const std::vector<NamedDirectory>& models, Policies& policies) {
  ForModels(
      flag, texts, models,
      [&](const NamedDirectory& model, const std::string& text, const std::string& value) {
        serve::TrafficShare& own = policies[model.name].*share;
        if (own.version != 0)
          throw Error(Format("{} {}: that of model {} was said before", flag, text, model.name));
        own = serve::ParseTrafficShare(value, flag);
      });
}

Policies ReadPolicies(const ModelFlags& flags, const std::vector<NamedDirectory>& models) {
  Policies policies;
  ReadVersions(flags, models, policies);
  ReadShares("--canary", flags.canaries, &serve::VersionPolicy::canary, models, policies);
  ReadShares("--shadow", flags.shadows, &serve::VersionPolicy::shadow, models, policies);
  for (const NamedDirectory& model : models)
    if (const auto policy = policies.find(model.name); policy != policies.end())
      CheckShares(policy->second, VersionFoldersIn(model.directory), model.directory);
  return policies;
}

// Throws Error, which begins with the flag, for a file that cannot be read.
void CheckReadable(const std::string& flag, const std::string& path) try {
  ReadTextFile(path);
} catch (const Error& error) {
  throw Error(Format("{} {}", flag, error.what()));
}

using WarmUpFiles = std::map<std::string, std::string>;  // by the models' names

WarmUpFiles ReadWarmUpFiles(const ModelFlags& flags, const std::vector<NamedDirectory>& models) {
  WarmUpFiles files;
  ForModels("--warm-up-file", flags.warm_up_files, models,
            [&](const NamedDirectory& model, const std::string& text, const std::string& value) {
              if (!files.emplace(model.name, value).second)
                throw Error(Format("--warm-up-file {}: that of model {} was said before", text,
                                   model.name));
              CheckReadable("--warm-up-file", value);
            });
  return files;
}

void CheckServed(const std::string& path) {
  const SavedForm form = DetectForm(path);
  if (form == SavedForm::kModelDirectory) return;
  throw Error(Format("{}: it is {}: make a model of it first: tessera quantize {} -o model", path,
                     Described(form), path));
}

// " (5 answers 10 %, 6 scores 100 %)", or nothing.
std::string DescribeShares(const ModelVersions& model) {
  const serve::VersionPolicy& policy = model.policy();
  std::string text;
  // The number that answers of a version say.
  const auto answered = [&](int64_t number) {
    for (const serve::ServedVersion& version : model.versions())
      if (version.number == number) return version.predictor->model()->spec().version;
    return number;
  };
  for (const auto& [share, does] : {std::pair(policy.canary, "answers"), {policy.shadow, "scores"}})
    if (share.version != 0)
      text += Format("{}{} {} {} %", text.empty() ? " (" : ", ", answered(share.version), does,
                     share.percent);
  return text + (text.empty() ? "" : ")");
}

std::string Describe(const ModelVersions& model) {
  int64_t bytes = 0;
  int64_t tables = 0;
  const auto versions = model.versions();
  for (const serve::ServedVersion& version : versions) {
    const auto served = version.predictor->model();
    tables = std::ssize(served->spec().tables);
    for (const serve::TableSpec& table : served->spec().tables) bytes += table.nbytes();
  }
  return Format("{}, version{} {}{}, {}, {}", model.name(), versions.size() > 1 ? "s" : "",
                VersionsText(model), DescribeShares(model), Counted(tables, "table"), Bytes(bytes));
}

// "version 3", with the model's name where there are several.
std::string Versions(const ModelVersions& model, bool several) {
  const bool many = model.versions().size() > 1;
  return Format("{}version{} {}", several ? model.name() + ": " : "", many ? "s" : "",
                VersionsText(model));
}

LogFields FieldsOf(const ModelVersions& model) {
  return {{"model", model.name()}, {"versions", VersionsText(model)}};
}

// Says which versions could not be served at the start, and how to take them back.
void SayPassedOver(const ModelVersions& model) {
  const std::vector<serve::BadVersion> bad = model.bad_versions();
  if (bad.empty()) return;
  const std::string rollback = RollbackText(model.directory(), bad, model.versions().back().number);
  NoteError(Format("{}; the model is {}{}{}", ErrorText(Error(BadVersionsText(bad))),
                   Versions(model, /*several=*/false), rollback.empty() ? "" : ": ", rollback),
            FieldsOf(model));
}

}  // namespace

ServedModels::ServedModels(const ModelFlags& flags, const serve::PredictorOptions& options,
                           std::chrono::milliseconds watch) {
  const std::vector<NamedDirectory> models = ReadModels(flags);
  for (const NamedDirectory& model : models) CheckServed(model.directory);
  auto policies = ReadPolicies(flags, models);
  auto files = ReadWarmUpFiles(flags, models);
  for (const auto& [name, directory] : models) {
    serve::PredictorOptions own = options;
    own.warm_up.rows_file = files[name];
    models_.push_back(std::make_unique<ModelVersions>(name, directory, policies[name], own));
    retries_.emplace_back(watch);
  }
}

std::vector<ModelVersions*> ServedModels::all() const {
  std::vector<ModelVersions*> models;
  for (const auto& model : models_) models.push_back(model.get());
  return models;
}

std::string ServedModels::Description() const {
  std::string text;
  for (const auto& model : models_) text += (text.empty() ? "" : "; ") + Describe(*model);
  return text;
}

void ServedModels::NoteTaken(const ModelVersions& model) const {
  Note("took up " + Versions(model, models_.size() > 1), FieldsOf(model));
}

void ServedModels::Reload() {
  for (serve::RetryPauses& retries : retries_) retries.Clear();
  for (const auto& model : models_) {
    const std::string before = VersionsText(*model);
    try {
      model->Reload();
      NoteTaken(*model);
    } catch (const std::exception& error) {
      NoteFailed(*model, before, error);
    }
  }
}

void ServedModels::Follow() {
  const auto now = std::chrono::steady_clock::now();
  for (size_t i = 0; i < models_.size(); ++i) {
    const std::string before = VersionsText(*models_[i]);
    try {
      if (models_[i]->Follow(retries_[i], now)) NoteTaken(*models_[i]);
    } catch (const std::exception& error) {
      NoteFailed(*models_[i], before, error);
    }
  }
}

void ServedModels::SayCutFiles() {
  std::set<std::string> cut;
  for (const auto& model : models_)
    for (const serve::ServedVersion& version : model->versions()) {
      const auto served = version.predictor->model();
      const std::string failure = served->FileFailure();
      if (failure.empty()) continue;
      const std::string key = model->name() + " " + served->digest();
      cut.insert(key);
      if (cut_.contains(key)) continue;
      NoteError(Format("{}; version {} of {} answers no request until a whole version is taken up",
                       failure, served->spec().version, model->name()),
                FieldsOf(*model));
    }
  cut_ = std::move(cut);
}

void ServedModels::NoteFailed(const ModelVersions& model, const std::string& before,
                              const std::exception& error) const {
  const bool stays = VersionsText(model) == before;
  if (!stays) NoteTaken(model);
  NoteError(Format("{}; the model {} {}", ErrorText(error), stays ? "stays" : "is",
                   Versions(model, models_.size() > 1)),
            FieldsOf(model));
}

void ServedModels::SayFailures() const {
  for (const auto& model : models_) {
    SayPassedOver(*model);
    for (const serve::ServedVersion& version : model->versions())
      if (const std::string failure = version.predictor->delta_failure(); !failure.empty())
        NoteError(Format("{}; the model is version {}", ErrorText(Error(failure)),
                         version.predictor->model()->spec().version),
                  FieldsOf(*model));
  }
}

}  // namespace tessera::cli
