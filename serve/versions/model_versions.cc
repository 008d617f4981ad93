#include "serve/versions/model_versions.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

#include "runtime/base/parse_number.h"
#include "runtime/files/files.h"
#include "serve/last_holder.h"
#include "serve/model_inputs.h"
#include "serve/versions/files_state.h"

namespace tessera::serve {
namespace {

constexpr char kAllowsInputs[] =
    "tessera serve --new-inputs, or \"new_inputs\" in the request to load,";

std::shared_ptr<Predictor> Borrowed(Predictor& predictor) {
  return {std::shared_ptr<Predictor>(), &predictor};
}

bool AreSame(const std::vector<ServedVersion>& served, std::span<const VersionFolder> chosen) {
  return std::ranges::equal(served, chosen, {}, &ServedVersion::number, &VersionFolder::number);
}

// A call holds its predictor and, a moment longer, the model that it computes with.
void Retire(std::shared_ptr<Predictor> predictor) {
  std::shared_ptr<const ServedModel> model = predictor->model();
  LetGo(std::move(predictor));
  LetGo(std::move(model));
}

// Throws Error for rows of a warm-up that no version takes: the file is at fault, not the versions.
void CheckTakeRows(const std::string& folder, const std::vector<BadVersion>& bad,
                   const std::string& rows_file) {
  const auto is_of_rows = [&](const BadVersion& version) {
    return version.why.starts_with(rows_file + ":");
  };
  if (!rows_file.empty() && std::ranges::all_of(bad, is_of_rows))
    throw Error(Format("{}: no version takes the rows of the warm-up: {}", folder, bad[0].why));
}

const ServedVersion* FindNumber(const std::vector<ServedVersion>& versions, int64_t number) {
  const auto found = std::ranges::find(versions, number, &ServedVersion::number);
  return found == versions.end() ? nullptr : &*found;
}

}  // namespace

ModelVersions::ModelVersions(std::string name, std::string directory, const VersionPolicy& policy,
                             PredictorOptions options)
    : name_(std::move(name)),
      directory_(std::move(directory)),
      policy_(ByFolders(policy, VersionFoldersIn(directory_))),
      options_(std::move(options)),
      to_canary_(policy_.canary.percent),
      to_shadow_(policy_.shadow.percent),
      to_shadow_of_canary_(policy_.shadow.percent),
      is_folder_(HoldsVersions(directory_)) {
  if (!is_folder_) {
    versions_.push_back({.predictor = std::make_shared<Predictor>(directory_, options_)});
    return;
  }
  CheckAreThere(policy, VersionFoldersIn(directory_), directory_);
  const bool pass_over =
      policy_.numbers.empty() && options_.bad_deltas == BadDeltas::kServeLastGood;
  const std::vector<VersionFolder> named = Named();
  Loaded loaded = LoadNewest(named, options_.new_inputs, pass_over);
  if (loaded.good.empty()) {
    CheckTakeRows(directory_, loaded.bad, options_.warm_up.rows_file);
    ThrowNoneIsGood(directory_, loaded.bad);
  }
  Use(std::move(loaded.good));
  NoteSeen(named.back().number, std::move(loaded.bad));
}

ModelVersions::ModelVersions(std::string name, Predictor& predictor)
    : name_(std::move(name)),
      to_canary_(0),
      to_shadow_(0),
      to_shadow_of_canary_(0),
      is_folder_(false) {
  versions_.push_back({.predictor = Borrowed(predictor)});
}

std::vector<ServedVersion> ModelVersions::versions() const {
  const std::lock_guard lock(mutex_);
  return versions_;
}

std::shared_ptr<Predictor> ModelVersions::current() const {
  const std::lock_guard lock(mutex_);
  for (auto version = versions_.rbegin(); version != versions_.rend(); ++version)
    if (!policy_.IsTried(version->number)) return version->predictor;
  return versions_.back().predictor;
}

std::shared_ptr<Predictor> ModelVersions::WithNumber(int64_t number) const {
  const std::lock_guard lock(mutex_);
  const ServedVersion* const version = FindNumber(versions_, number);
  return version == nullptr ? nullptr : version->predictor;
}

std::string ModelVersions::FileFailure() const {
  std::string failure = current()->model()->FileFailure();
  if (!failure.empty() || policy_.canary.version == 0) return failure;
  const std::shared_ptr<Predictor> canary = WithNumber(policy_.canary.version);
  return canary == nullptr ? "" : canary->model()->FileFailure();
}

std::shared_ptr<Predictor> ModelVersions::NextToAnswer() {
  if (policy_.canary.version != 0 && to_canary_.Next())
    if (std::shared_ptr<Predictor> canary = WithNumber(policy_.canary.version)) return canary;
  return current();
}

std::shared_ptr<Predictor> ModelVersions::NextShadow(const Predictor& answers) {
  if (policy_.shadow.version == 0) return nullptr;
  const bool canary =
      policy_.canary.version != 0 && WithNumber(policy_.canary.version).get() == &answers;
  if (!(canary ? to_shadow_of_canary_ : to_shadow_).Next()) return nullptr;
  return WithNumber(policy_.shadow.version);
}

std::shared_ptr<Predictor> ModelVersions::Find(std::string_view version) const {
  int64_t number = 0;
  if (!ParseNumber(version, number) || std::to_string(number) != version) return nullptr;
  for (const ServedVersion& served : versions()) {
    const int64_t newest = served.predictor->model()->spec().version;
    const int64_t oldest = is_folder_ ? served.number : newest;
    if (oldest <= number && number <= newest) return served.predictor;
  }
  return nullptr;
}

std::vector<BadVersion> ModelVersions::bad_versions() const {
  const std::lock_guard lock(mutex_);
  return bad_;
}

void ModelVersions::NoteSeen(int64_t newest, std::vector<BadVersion> bad) {
  const std::lock_guard lock(mutex_);
  retired_.newest_version_seen = newest;
  bad_ = std::move(bad);
}

std::vector<VersionFolder> ModelVersions::Named() const {
  const std::vector<VersionFolder> there = VersionFoldersIn(directory_);
  if (there.empty()) CheckHasVersionsLeft(directory_);
  VersionPolicy policy = policy_;
  policy.latest = std::ssize(there);
  return ChosenVersions(policy, there, directory_);
}

std::shared_ptr<Predictor> ModelVersions::Load(const VersionFolder& folder,
                                               const ServedModel* before, bool new_inputs) const {
  PredictorOptions options = options_;
  std::optional<ModelSpec> same_as;  // a copy: the predictor keeps the function
  if (before != nullptr && !new_inputs && !options_.new_inputs) same_as = before->spec();
  options.accept = [same_as, accept = options_.accept, path = folder.path](const ModelSpec& spec) {
    if (same_as) CheckSameInputs(*same_as, spec, path, kAllowsInputs);
    if (accept) accept(spec);
  };
  options.before = before;
  options.beside = !versions().empty();
  return std::make_shared<Predictor>(folder.path, options);
}

ModelVersions::Loaded ModelVersions::LoadNewest(const std::vector<VersionFolder>& named,
                                                bool new_inputs, bool pass_over) const {
  const Versions served = versions();
  Loaded loaded;
  std::shared_ptr<const ServedModel> before;
  if (!served.empty()) before = served.back().predictor->model();
  for (const VersionFolder& folder : std::views::reverse(named)) try {
      if (std::ssize(loaded.good) == MostServed()) break;
      const ServedVersion* const there = FindNumber(served, folder.number);
      const bool stays = there != nullptr && there->predictor->model()->FileFailure().empty();
      auto predictor = stays ? there->predictor : Load(folder, before.get(), new_inputs);
      before = predictor->model();
      loaded.good.insert(loaded.good.begin(), {folder.number, std::move(predictor)});
    } catch (const Error& error) {
      if (!pass_over) throw;
      loaded.bad.push_back({folder.number, error.what()});
    }
  return loaded;
}

void ModelVersions::Use(Versions versions) {
  {
    const std::lock_guard lock(mutex_);
    std::swap(versions_, versions);
    std::erase_if(versions, [&](const ServedVersion& before) {
      const ServedVersion* const now = FindNumber(versions_, before.number);
      return now != nullptr && now->predictor == before.predictor;
    });
    for (const ServedVersion& before : versions) {
      const DeltaCounts counts = before.predictor->delta_counts();
      retired_.taken += counts.taken;
      retired_.failed += counts.failed;
    }
  }
  for (ServedVersion& before : versions) Retire(std::move(before.predictor));
}

template <typename Fn>
void ModelVersions::Counted(Fn&& load) {
  try {
    load();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    ++loads_.failed;
    throw;
  }
  const std::lock_guard lock(mutex_);
  ++loads_.good;
}

void ModelVersions::Reload(bool new_inputs) {
  const std::lock_guard one_at_a_time(reload_mutex_);
  Counted([&] {
    if (is_folder_) return TakeUp(Named(), new_inputs);
    current()->Reload("", new_inputs);
  });
}

void ModelVersions::TakeUp(const std::vector<VersionFolder>& named, bool new_inputs) {
  Loaded loaded = LoadNewest(named, new_inputs, /*pass_over=*/true);
  if (!loaded.good.empty()) Use(std::move(loaded.good));
  const std::string failures = BadVersionsText(loaded.bad);
  NoteSeen(named.back().number, std::move(loaded.bad));
  if (!failures.empty()) throw Error(failures);
}

LoadCounts ModelVersions::load_counts() const {
  const std::lock_guard lock(mutex_);
  return loads_;
}

int64_t ModelVersions::TakeDeltas() {
  int64_t taken = 0;
  std::exception_ptr error;
  for (const ServedVersion& version : versions()) try {
      taken += version.predictor->TakeDeltas();
    } catch (const Error&) {
      error = std::current_exception();
    }
  if (error) std::rethrow_exception(error);
  return taken;
}

bool ModelVersions::FollowFolder() {
  const std::lock_guard one_at_a_time(reload_mutex_);
  const std::vector<VersionFolder> named = Named();
  const size_t most = std::min(named.size(), static_cast<size_t>(MostServed()));
  if (AreSame(versions(), std::span(named).last(most))) {
    NoteSeen(named.back().number, {});
    return false;
  }
  Counted([&] { TakeUp(named, options_.new_inputs); });
  return true;
}

std::string ModelVersions::DirectoryOf(const ServedVersion& version) const {
  return is_folder_ ? PathIn(directory_, std::to_string(version.number)) : directory_;
}

ModelVersions::FilesOfVersions ModelVersions::FilesInFolder() const {
  FilesOfVersions files;
  for (const VersionFolder& folder : VersionFoldersIn(directory_))
    files[folder.number] = FilesState(folder.path);
  return files;
}

std::string ModelVersions::FolderState(const FilesOfVersions& files) const {
  const std::vector<ServedVersion> served = versions();
  std::string state;
  for (const auto& [number, of_version] : files)
    state += Format("{}\n{}", number,
                    FindNumber(served, number) == nullptr ? of_version : std::string());
  return state;
}

bool ModelVersions::Follow() {
  RetryPauses all_due(std::chrono::milliseconds(0));
  return Follow(all_due, {});
}

bool ModelVersions::Follow(RetryPauses& retries, RetryPauses::Time now) {
  bool changed = false;
  std::string errors;
  const auto follow = [&](const std::string& what, auto&& state, auto&& take) {
    if (!retries.IsDue(what, state(), now)) return;
    try {
      changed = take() || changed;
      retries.NoteGood(what);
    } catch (const std::exception& error) {
      retries.NoteFailed(what, state(), now);
      errors += (errors.empty() ? "" : "; ") + std::string(error.what());
    }
  };
  if (is_folder_)
    follow(
        "versions", [&, files = FilesInFolder()] { return FolderState(files); },
        [&] { return FollowFolder(); });
  for (const ServedVersion& version : versions())
    follow(
        Format("deltas of {}", version.number),
        [files = FilesState(DirectoryOf(version))] { return files; },
        [&] { return version.predictor->TakeDeltas() > 0; });
  if (!errors.empty()) throw Error(errors);
  return changed;
}

DeltaCounts ModelVersions::delta_counts() const {
  const std::lock_guard lock(mutex_);
  DeltaCounts sum = retired_;
  for (const ServedVersion& version : versions_) {
    const DeltaCounts counts = version.predictor->delta_counts();
    sum.taken += counts.taken;
    sum.failed += counts.failed;
    sum.newest_version_seen = std::max(sum.newest_version_seen, counts.newest_version_seen);
  }
  return sum;
}

std::string VersionsText(const ModelVersions& model) {
  std::string text;
  for (const ServedVersion& version : model.versions())
    text += Format("{}{}", text.empty() ? "" : ", ", version.predictor->model()->spec().version);
  return text;
}

}  // namespace tessera::serve
