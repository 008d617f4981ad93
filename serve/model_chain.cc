#include "serve/model_chain.h"

#include <filesystem>
#include <system_error>

#include "runtime/files.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera::serve {
namespace {

ModelSpec ReadSpec(const std::string& directory) {
  const std::string path = PathIn(directory, kModelFile);
  return ParseModelSpec(ReadTextFile(path), path);
}

}  // namespace

ModelChain::ModelChain(std::string directory, const ServedModel* before)
    : directory_(std::move(directory)),
      base_(ReadSpec(directory_)),
      weights_(PathIn(directory_, base_.weights), /*writable=*/true),
      current_(ServedTables::Map(weights_, base_)) {
  model_ = std::make_shared<const ServedModel>(base_, current_->Lease(),
                                               ServedModel::ReadRemaps(base_, weights_),
                                               ServedModel::ReadDensePart(base_, weights_), before);
  while (TakeNext()) {
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

bool ModelChain::TakeNext() {
  const int64_t version = model_->spec().version;
  const std::string path = PathIn(directory_, DeltaFileName(version + 1));
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return false;
  const auto delta = std::make_shared<const ModelDelta>(path, model_->spec(), crc32());
  std::unique_ptr<const RankingNet> net =
      ServedModel::ReadDensePart(delta->spec(), delta->tensors());
  std::shared_ptr<ServedTables> tables = TakeSpare();
  for (auto i = static_cast<size_t>(tables->version() - base_.version); i < deltas_.size(); ++i)
    tables->Apply(*deltas_[i]);
  tables->Apply(*delta);
  auto model = std::make_shared<const ServedModel>(delta->spec(), tables->Lease(), model_->remaps(),
                                                   std::move(net), model_.get());
  deltas_.push_back(delta);
  model_ = std::move(model);
  spare_ = std::exchange(current_, std::move(tables));
  return true;
}

std::shared_ptr<const ServedModel> LoadServedModel(const std::string& directory) {
  return ModelChain(directory).model();
}

}  // namespace tessera::serve
