#ifndef TESSERA_SERVE_REQUEST_QUEUE_H_
#define TESSERA_SERVE_REQUEST_QUEUE_H_
// Requests of many threads, computed together: a worker takes the oldest request and those behind
// it for the same predictor, up to max_batch examples, and waits for more until the oldest is
// max_wait old. With a max_wait of 0 it leaves idle workers their share, so that a small request
// need not wait for a large one that came with it. A batch uses one model; a request that does not
// fit it is answered by an Error of its own, which the others do not notice. Every request is
// answered exactly once, also where memory runs out meanwhile. One that is not counted, as those of
// a warm-up, has a max_wait of 0.
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/predictor.h"

namespace tessera::serve {

struct RequestQueueOptions {
  int64_t max_batch = 2048;               // examples computed together; a larger request goes alone
  std::chrono::microseconds max_wait{0};  // 0: what is there when a worker is free
  std::chrono::milliseconds deadline{500};  // from a request's arrival to its batch's begin
  size_t max_queued = 4096;                 // requests
  int workers = 1;
};

// A request came when max_queued were waiting.
class QueueFull : public Error {
 public:
  using Error::Error;
};
// A request's deadline passed before its turn came.
class DeadlinePassed : public Error {
 public:
  using Error::Error;
};

struct ScoredRequest {
  std::vector<float> scores;                            // answers of each example, one a task
  std::vector<std::string> outputs = {kScoreOutput};    // names of an example's answers
  int64_t model_version = 0;                            // of the model that all of them come from
  std::string model_digest = {};                        // of that model
  std::chrono::steady_clock::time_point taken = {};     // when their batch began to be computed
  std::chrono::steady_clock::time_point answered = {};  // when the scores were ready
  bool began_batch = false;                             // whether it was the first of its batch
};

class RequestQueue {
 public:
  // Called once, by a worker, with an error or with scores. Throws nothing.
  using Done = std::function<void(std::exception_ptr error, ScoredRequest scored)>;

  // A queue whose requests say which predictor answers them.
  explicit RequestQueue(RequestQueueOptions options = {});
  // `predictor` answers requests that name none; it must outlive the queue.
  explicit RequestQueue(Predictor& predictor, RequestQueueOptions options = {});
  // Answers the requests that wait before it returns.
  ~RequestQueue();

  // Returns the answer, or an Error in its place. Throws QueueFull.
  std::future<ScoredRequest> Submit(PredictRequest request);
  // Submits for a caller that does not wait. Throws QueueFull, and then never calls `done`.
  void Submit(PredictRequest request, Done done);
  void Submit(std::shared_ptr<Predictor> predictor, PredictRequest request, Done done);
  // Requests that wait.
  size_t queued() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Item {
    std::shared_ptr<Predictor> predictor;
    PredictRequest request;
    Done done;  // empty once it was called
    Clock::time_point arrival;
  };
  // Items move from list to list without memory, so that none is lost for want of it.
  using Items = std::list<Item>;

  RequestQueue(std::shared_ptr<Predictor> predictor, RequestQueueOptions options);
  void Work();
  void Close();  // workers end once nothing waits
  // The next batch; empty when there will be none.
  Items Take();
  // These three look at the oldest request and those for the same predictor. REQUIRES: there is
  // one. Share is the number of requests that this worker may take.
  size_t Share() const;
  bool BatchIsFull() const;
  Items TakeBatch();
  void Answer(Items& batch);
  void RefuseLate(Items& batch);
  void RefuseBad(const ServedModel& model, Items& batch);
  void Compute(Items& batch);

  const std::shared_ptr<Predictor> predictor_;  // null: each request brings one
  const RequestQueueOptions options_;
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  Items items_;
  size_t idle_ = 0;  // workers that wait for a request
  bool closed_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_REQUEST_QUEUE_H_
