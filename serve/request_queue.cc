#include "serve/request_queue.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/report_text.h"
#include "runtime/base/size_limits.h"
#include "runtime/base/start_threads.h"

namespace tessera::serve {
namespace {

// Takes `done` away, so that nobody calls it a second time.
RequestQueue::Done TakeDone(RequestQueue::Done& done) { return std::exchange(done, nullptr); }

// Needs no memory, which may be what ran out.
void Refuse(RequestQueue::Done& done, std::exception_ptr error) {
  ScoredRequest nothing{.scores = {}, .outputs = {}};
  if (done) TakeDone(done)(std::move(error), std::move(nothing));
}

// The time that the oldest request waits for others.
std::chrono::microseconds MaxWait(const RequestQueueOptions& options,
                                  const PredictRequest& oldest) {
  return oldest.counted ? options.max_wait : std::chrono::microseconds(0);
}

}  // namespace

RequestQueue::RequestQueue(Predictor& predictor, RequestQueueOptions options)
    : RequestQueue(std::shared_ptr<Predictor>(std::shared_ptr<Predictor>(), &predictor), options) {}
RequestQueue::RequestQueue(RequestQueueOptions options)
    : RequestQueue(std::shared_ptr<Predictor>(), options) {}

RequestQueue::RequestQueue(std::shared_ptr<Predictor> predictor, RequestQueueOptions options)
    : predictor_(std::move(predictor)), options_(options) {
  TESSERA_CHECK(options.max_batch >= 1 && options.max_queued >= 1 && options.workers >= 1,
                "request queue: batches of {} examples, {} requests, {} workers", options.max_batch,
                options.max_queued, options.workers);
  CheckPositive(options.workers, SizeLimits::kThreads, "request queue: workers");
  StartThreads(workers_, options_.workers, "worker", [this](int) { Work(); });
}

void RequestQueue::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

RequestQueue::~RequestQueue() {
  Close();
  for (std::thread& worker : workers_) worker.join();
}

std::future<ScoredRequest> RequestQueue::Submit(PredictRequest request) {
  const auto promise = std::make_shared<std::promise<ScoredRequest>>();
  Submit(std::move(request), [promise](std::exception_ptr error, ScoredRequest scored) {
    if (error)
      promise->set_exception(std::move(error));
    else
      promise->set_value(std::move(scored));
  });
  return promise->get_future();
}

void RequestQueue::Submit(PredictRequest request, Done done) {
  Submit(predictor_, std::move(request), std::move(done));
}

void RequestQueue::Submit(std::shared_ptr<Predictor> predictor, PredictRequest request, Done done) {
  TESSERA_CHECK(predictor != nullptr, "request queue: a request without a predictor");
  Items one;
  one.push_back({std::move(predictor), std::move(request), std::move(done), Clock::now()});
  {
    const std::lock_guard lock(mutex_);
    if (items_.size() >= options_.max_queued)
      throw QueueFull(
          Format("the queue has {} already", internal::Counted(std::ssize(items_), "request")));
    items_.splice(items_.end(), one);
  }
  changed_.notify_one();
}

size_t RequestQueue::queued() const {
  const std::lock_guard lock(mutex_);
  return items_.size();
}

void RequestQueue::Work() {
  for (Items batch; !(batch = Take()).empty();) Answer(batch);
}

bool RequestQueue::BatchIsFull() const {
  int64_t examples = 0;
  return std::any_of(items_.begin(), items_.end(), [&](const Item& item) {
    if (item.predictor != items_.front().predictor) return false;
    return (examples += item.request.size()) >= options_.max_batch;
  });
}

size_t RequestQueue::Share() const {
  const auto alike =
      static_cast<size_t>(std::ranges::count(items_, items_.front().predictor, &Item::predictor));
  if (MaxWait(options_, items_.front().request).count() > 0) return alike;
  return (alike + idle_) / (idle_ + 1);
}

RequestQueue::Items RequestQueue::TakeBatch() {
  Items batch;
  const size_t share = Share();
  const Predictor* const predictor = items_.front().predictor.get();
  int64_t examples = 0;
  for (auto next = items_.begin(); next != items_.end() && batch.size() < share;) {
    const auto item = next++;
    if (item->predictor.get() != predictor) continue;
    examples += item->request.size();
    if (!batch.empty() && examples > options_.max_batch) break;
    batch.splice(batch.end(), items_, item);
  }
  return batch;
}

RequestQueue::Items RequestQueue::Take() {
  std::unique_lock lock(mutex_);
  Items batch;
  while (batch.empty()) {
    ++idle_;
    changed_.wait(lock, [&] { return closed_ || !items_.empty(); });
    --idle_;
    if (items_.empty()) break;
    // Another worker may take the requests that this one waits for; then it begins anew.
    const auto until = items_.front().arrival + MaxWait(options_, items_.front().request);
    if (Clock::now() < until && !closed_ && !BatchIsFull()) {
      changed_.wait_until(lock, until);
      continue;
    }
    batch = TakeBatch();
  }
  if (!items_.empty()) changed_.notify_one();
  return batch;
}

void RequestQueue::Answer(Items& batch) {
  try {
    RefuseLate(batch);
    Compute(batch);
  } catch (...) {
    for (Item& item : batch) Refuse(item.done, std::current_exception());
  }
}

void RequestQueue::RefuseLate(Items& batch) {
  const Clock::time_point now = Clock::now();
  const auto refuse = [&](Item& item) {
    if (now - item.arrival <= options_.deadline) return false;
    Refuse(item.done, std::make_exception_ptr(DeadlinePassed(Format(
                          "its turn did not come within {} ms", options_.deadline.count()))));
    return true;
  };
  std::erase_if(batch, refuse);
}

void RequestQueue::RefuseBad(const ServedModel& model, Items& batch) {
  std::erase_if(batch, [&](Item& item) {
    try {
      model.Check(item.request);
      return false;
    } catch (...) {
      Refuse(item.done, std::current_exception());
      return true;
    }
  });
}

void RequestQueue::Compute(Items& batch) {
  if (batch.empty()) return;
  const Clock::time_point taken = Clock::now();
  Predictor& predictor = *batch.front().predictor;
  const std::shared_ptr<const ServedModel> model = predictor.model();
  RefuseBad(*model, batch);
  std::vector<const PredictRequest*> requests;
  for (const Item& item : batch) requests.push_back(&item.request);
  const std::vector<float> scores = predictor.Predict(*model, requests);
  const std::vector<std::string> outputs = model->spec().Outputs();
  auto next = scores.begin();
  for (Item& item : batch) {
    const int64_t count = item.request.size() * std::ssize(outputs);
    ScoredRequest scored{.scores = {next, next + count},
                         .outputs = outputs,
                         .model_version = model->spec().version,
                         .model_digest = model->digest(),
                         .taken = taken,
                         .answered = Clock::now(),
                         .began_batch = &item == &batch.front()};
    next += count;
    TakeDone(item.done)(nullptr, std::move(scored));
  }
  batch.clear();
}

}  // namespace tessera::serve
