#include "serve/model_chain.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <thread>

#include "runtime/base/background.h"
#include "runtime/base/hash.h"
#include "runtime/files/files.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/version_folders.h"

namespace tessera::serve {
namespace {

ModelSpec ReadSpec(const std::string& directory) {
  const std::string path = PathIn(directory, kModelFile);
  return ParseModelSpec(ReadTextFile(path), path);
}

// Throws Error for a version in a folder of another number: it would answer by two numbers.
void CheckNumber(const std::string& directory, const ModelSpec& spec) {
  const auto place = PlaceOfVersion(directory);
  if (!place || place->number == spec.version) return;
  const std::string taken = FolderOfNumber(place->folder, spec.version);
  const std::string advice = taken.empty()
                                 ? Format("rename that to {}", spec.version)
                                 : Format("{} has this number already, so move {} out of {}", taken,
                                          directory, place->folder);
  throw Error(Format("{}: {} says version {}: expected the number of its folder; {}", directory,
                     kModelFile, spec.version, advice));
}

ModelSpec ReadAccepted(const std::string& directory, const ModelChainOptions& options) {
  ModelSpec spec = ReadSpec(directory);
  CheckNumber(directory, spec);
  if (options.accept) options.accept(spec);
  return spec;
}

// Reads all bytes, which takes long, and takes no lock that a request may wait for: a thread of
// lower priority would hold that longer.
bool IsIntact(const MappedTensors& weights, bool beside) {
  if (!beside) return weights.IsIntact(/*threads=*/0);
  const int quarter = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / 4);
  bool intact = false;
  RunInBackground([&] { intact = weights.IsIntact(quarter); });
  return intact;
}

void CheckIntact(const MappedTensors& weights, bool beside) {
  if (weights.Metadata(CheckpointChecksum().key).empty())
    throw Error(
        Format("{}: it has no checksum: an older tessera wrote it; tessera quantize writes it "
               "anew",
               weights.path()));
  if (!IsIntact(weights, beside))
    throw Error(
        Format("{}: its bytes do not have their crc32: the file is damaged", weights.path()));
}

// The digest of a model that a file makes of the model before it (digest `before`, "" for the
// first).
std::string DigestAfter(const std::string& before, const ModelSpec& spec,
                        const std::string& crc32) {
  return Format("{:016x}", internal::HashOf(Format("{} {} {}", before, ToJson(spec), crc32)));
}

// The time when a file was written, 0 (1970) where that cannot be read.
std::chrono::system_clock::time_point TimeOf(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return {};
  return std::chrono::system_clock::from_time_t(about.st_mtim.tv_sec);
}

// The newest version of which a delta lies in the directory, 0 without any.
int64_t NewestDelta(const std::string& directory) {
  int64_t newest = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename();
    int64_t version = 0;
    if (std::sscanf(name.c_str(), "delta-%" SCNd64, &version) == 1 &&
        name == DeltaFileName(version))
      newest = std::max(newest, version);
  }
  return newest;
}

}  // namespace

ModelChain::ModelChain(const std::string& directory, const ModelChainOptions& options)
    : directory_(NewestVersionOf(directory)),
      base_(ReadAccepted(directory_, options)),
      weights_(PathOfNamed(directory_, base_.weights), /*writable=*/true),
      newest_version_seen_(base_.version) {
  CheckIntact(weights_, options.beside);
  current_ = ServedTables::Map(weights_, base_);
  model_ = std::make_shared<const ServedModel>(
      base_, DigestAfter("", base_, crc32()), current_->Lease(),
      ServedModel::ReadRemaps(base_, weights_), ServedModel::ReadDensePart(base_, weights_),
      TimeOf(weights_.path()), options.before);
  weights_.CheckNotCut();
  TakeAll(options.bad_deltas);
}

void ModelChain::TakeAll(BadDeltas bad_deltas) {
  try {
    while (TakeNext()) {
    }
  } catch (const Error&) {
    if (bad_deltas == BadDeltas::kError) throw;
  }
}

std::string ModelChain::crc32() const {
  return deltas_.empty() ? weights_.Metadata(CheckpointChecksum().key) : deltas_.back()->crc32();
}

std::shared_ptr<ServedTables> ModelChain::TakeSpare() {
  std::shared_ptr<ServedTables> spare = std::move(spare_);
  if (spare == nullptr || !spare->WaitUntilFree(kWait)) spare = ServedTables::Map(weights_, base_);
  return spare;
}

// Whether the next delta is there. Throws Error if it is missing, but a newer one is there.
bool ModelChain::IsNextThere() {
  const int64_t next = model_->spec().version + 1;
  newest_version_seen_ = std::max(newest_version_seen_, NewestDelta(directory_));
  std::error_code error;
  if (std::filesystem::exists(PathIn(directory_, DeltaFileName(next)), error)) return true;
  if (newest_version_seen_ > next)
    throw Error(Format("{}: {} is missing, so that {} cannot be taken: the newest version is {}",
                       directory_, DeltaFileName(next), DeltaFileName(newest_version_seen_),
                       next - 1));
  return false;
}

bool ModelChain::TakeNext() {
  try {
    const bool there = IsNextThere();
    if (there) Take(PathIn(directory_, DeltaFileName(model_->spec().version + 1)));
    failure_.clear();
    return there;
  } catch (const Error& error) {
    failure_ = error.what();
    throw;
  }
}

void ModelChain::Take(const std::string& path) {
  const auto delta = std::make_shared<const ModelDelta>(path, model_->spec(), crc32());
  std::unique_ptr<const DensePart> dense =
      ServedModel::ReadDensePart(delta->spec(), delta->tensors());
  std::shared_ptr<ServedTables> tables = TakeSpare();
  for (auto i = static_cast<size_t>(tables->version() - base_.version); i < deltas_.size(); ++i)
    tables->Apply(*deltas_[i]);
  tables->Apply(*delta);
  for (const auto& applied : deltas_) applied->tensors().CheckNotCut();
  delta->tensors().CheckNotCut();
  auto model = std::make_shared<const ServedModel>(
      delta->spec(), DigestAfter(model_->digest(), delta->spec(), delta->crc32()), tables->Lease(),
      model_->remaps(), std::move(dense), TimeOf(path), model_.get());
  deltas_.push_back(delta);
  model_ = std::move(model);
  spare_ = std::exchange(current_, std::move(tables));
}

std::shared_ptr<const ServedModel> LoadServedModel(const std::string& directory) {
  return ModelChain(directory).model();
}

}  // namespace tessera::serve
