#include "train/verify/run_verifier.h"

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
    Compare(Format("the state after step {}", step), step + 1, *recorded, digest_.OfState());
  trainer.WatchSteps([this](const Batch& part) { OnStep(part); });
}

RunVerifier::~RunVerifier() { trainer_.WatchSteps(nullptr); }

void RunVerifier::OnStep(const Batch& part) {
  const int64_t step = trainer_.progress().step + 1;
  const StepDigest* const recorded = record_->FindStep(step);
  if (recorded == nullptr && (step - 1) % every_ != 0) return;
  const StepDigest now = digest_.OfStep(part);
  if (recorded != nullptr) return Compare(Format("step {}", step), step, *recorded, now);
  record_->AddStep(step, now);
  ++report_.added;
}

void RunVerifier::End() {
  const int64_t step = trainer_.progress().step;
  const StepDigest now = digest_.OfState();
  if (const StepDigest* recorded = record_->FindState(step))
    return Compare(Format("the state after step {}", step), step + 1, *recorded, now);
  record_->AddState(step, now);
  ++report_.added;
}

void RunVerifier::Compare(const std::string& what, int64_t step, const StepDigest& recorded,
                          const StepDigest& now) {
  const std::string differences = DifferenceOf(recorded, now);
  if (differences.empty()) {
    ++report_.equal;
    return;
  }
  const int64_t last = record_->LastBefore(step);
  report_.difference =
      Format("{}: {} begins with other values than the record has: {} ({})", record_->path(), what,
             differences,
             last == 0 ? "no step before it was compared" : Format("step {} was equal", last));
  throw RunDifference(report_);
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
