#include "train/verify/run_verifier.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace tessera {
namespace {

// Adds what differs between two sums to `differences`: the name of the one place, or `several`.
template <typename Name>
void AddDifference(const LocatedSum& recorded, const LocatedSum& now, const char* several,
                   Name name, std::string& differences) {
  if (recorded == now) return;
  const auto place = now.PlaceOfDifference(recorded);
  differences += (differences.empty() ? "" : "; ") + (place ? name(*place) : several);
}

}  // namespace

RunVerifier::RunVerifier(Trainer& trainer, std::unique_ptr<RunRecord> record, int64_t every)
    : trainer_(trainer),
      digest_(trainer),
      record_(std::move(record)),
      every_(every),
      report_{.record = record_->path()} {
  TESSERA_CHECK_GE(every, 1, "verify: steps from one digest to the next");
  const int64_t step = trainer.progress().step;
  if (const StepDigest* recorded = record_->FindState(step))
    Compare(Format("the state after step {}", step), step + 1, recorded, digest_.OfStateSync());
  trainer.WatchSteps([this](const Batch& part) { OnStep(part); });
}

RunVerifier::~RunVerifier() { trainer_.WatchSteps(nullptr); }

void RunVerifier::OnStep(const Batch& part) {
  const int64_t step = trainer_.progress().step + 1;
  const StepDigest* const recorded = record_->FindStep(step);
  if (recorded == nullptr && (step - 1) % every_ != 0) return;
  const std::vector<StepDigest> now = digest_.OfStepSync(part);
  Compare(Format("step {}", step), step, recorded, now);
  if (recorded == nullptr) record_->AddStep(step, now.front());
}

void RunVerifier::End() {
  const int64_t step = trainer_.progress().step;
  const std::vector<StepDigest> now = digest_.OfStateSync();
  const StepDigest* const recorded = record_->FindState(step);
  Compare(Format("the state after step {}", step), step + 1, recorded, now);
  if (recorded == nullptr) record_->AddState(step, now.front());
}

void RunVerifier::Compare(const std::string& what, int64_t step, const StepDigest* recorded,
                          const std::vector<StepDigest>& ranks) {
  const std::string differences =
      DifferencesOf(recorded == nullptr ? ranks.front() : *recorded, ranks);
  if (differences.empty()) {
    ++(recorded == nullptr ? report_.added : report_.equal);
    return;
  }
  const int64_t last = record_->LastBefore(step);
  const std::string cuts = recorded == nullptr ? "" : record_->OtherCuts();
  report_.difference =
      Format("{}: {} begins with other values than {}: {} ({}{})", record_->path(), what,
             recorded == nullptr ? "on rank 0" : "the record has", differences,
             last == 0 ? "no step before it was compared" : Format("step {} was equal", last),
             cuts.empty() ? "" : "; plans that cut tables otherwise may sum otherwise: " + cuts);
  throw RunDifference(report_);
}

std::string RunVerifier::DifferencesOf(const StepDigest& recorded,
                                       const std::vector<StepDigest>& ranks) const {
  if (std::ranges::count(ranks, ranks.front()) == std::ssize(ranks))
    return DifferenceOf(recorded, ranks.front());
  std::string differences;
  for (size_t r = 0; r < ranks.size(); ++r)
    if (const std::string of_rank = DifferenceOf(recorded, ranks[r]); !of_rank.empty())
      differences += Format("{}on rank {} {}", differences.empty() ? "" : "; ", r, of_rank);
  return differences;
}

std::string RunVerifier::DifferenceOf(const StepDigest& recorded, const StepDigest& now) const {
  std::string differences;
  AddDifference(recorded.batch, now.batch, "several examples of the batch",
                TrainingDigest::NameInBatch, differences);
  AddDifference(
      recorded.rows, now.rows, "several rows of tables",
      [this](uint64_t place) { return digest_.NameInRows(place); }, differences);
  AddDifference(
      recorded.dense, now.dense, "dense parameters or their states in several places",
      [this](uint64_t place) { return digest_.NameInDense(place); }, differences);
  return differences;
}

}  // namespace tessera
