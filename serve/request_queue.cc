#include "serve/request_queue.h"

#include <algorithm>
#include <utility>

namespace tessera::serve {

RequestQueue::RequestQueue(Predictor& predictor, RequestQueueOptions options)
    : predictor_(predictor), options_(options) {
  TESSERA_CHECK(options.max_batch >= 1 && options.max_queued >= 1 && options.workers >= 1,
                "request queue: batches of {} examples, {} requests, {} workers", options.max_batch,
                options.max_queued, options.workers);
  for (int i = 0; i < options_.workers; ++i) workers_.emplace_back([this] { Work(); });
}

RequestQueue::~RequestQueue() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

std::future<ScoredRequest> RequestQueue::Submit(PredictRequest request) {
  Item item{std::move(request), {}, Clock::now()};
  std::future<ScoredRequest> scores = item.promise.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (items_.size() >= options_.max_queued)
      throw QueueFull(Format("{} requests wait already", items_.size()));
    items_.push_back(std::move(item));
  }
  changed_.notify_one();
  return scores;
}

size_t RequestQueue::queued() const {
  const std::lock_guard lock(mutex_);
  return items_.size();
}

void RequestQueue::Work() {
  for (std::vector<Item> batch; !(batch = Take()).empty();) Answer(std::move(batch));
}

bool RequestQueue::BatchIsFull() const {
  int64_t examples = 0;
  return std::any_of(items_.begin(), items_.end(), [&](const Item& item) {
    return (examples += item.request.size()) >= options_.max_batch;
  });
}

size_t RequestQueue::Share() const {
  if (options_.max_wait.count() > 0) return items_.size();
  return (items_.size() + idle_) / (idle_ + 1);
}

std::vector<RequestQueue::Item> RequestQueue::Take() {
  std::unique_lock lock(mutex_);
  std::vector<Item> batch;
  while (batch.empty()) {
    ++idle_;
    changed_.wait(lock, [&] { return closed_ || !items_.empty(); });
    --idle_;
    if (items_.empty()) break;
    // Another worker may take what this one waits for: it begins anew then.
    const auto until = items_.front().arrival + options_.max_wait;
    if (Clock::now() < until && !closed_ && !BatchIsFull()) {
      changed_.wait_until(lock, until);
      continue;
    }
    const size_t share = Share();
    for (int64_t examples = 0; batch.size() < share;) {
      examples += items_.front().request.size();
      if (!batch.empty() && examples > options_.max_batch) break;
      batch.push_back(std::move(items_.front()));
      items_.pop_front();
    }
  }
  if (!items_.empty()) changed_.notify_one();
  return batch;
}

void RequestQueue::Answer(std::vector<Item> batch) {
  const auto late = std::stable_partition(batch.begin(), batch.end(), [&](const Item& item) {
    return Clock::now() - item.arrival <= options_.deadline;
  });
  const auto error = std::make_exception_ptr(
      DeadlinePassed(Format("its turn did not come within {} ms", options_.deadline.count())));
  for (auto item = late; item != batch.end(); ++item) item->promise.set_exception(error);
  batch.erase(late, batch.end());
  try {
    Compute(batch);
  } catch (...) {
    for (Item& item : batch) item.promise.set_exception(std::current_exception());
  }
}

void RequestQueue::Compute(std::vector<Item>& batch) {
  const std::shared_ptr<const ServedModel> model = predictor_.model();
  std::erase_if(batch, [&](Item& item) {
    try {
      model->Check(item.request);
      return false;
    } catch (const Error&) {
      item.promise.set_exception(std::current_exception());
      return true;
    }
  });
  std::vector<const PredictRequest*> requests;
  for (const Item& item : batch) requests.push_back(&item.request);
  const std::vector<float> scores = predictor_.Predict(*model, requests);
  auto next = scores.begin();
  for (Item& item : batch) {
    item.promise.set_value({.scores = {next, next + item.request.size()},
                            .model_version = model->spec().version,
                            .answered = Clock::now()});
    next += item.request.size();
  }
  batch.clear();
}

}  // namespace tessera::serve
