#ifndef TESSERA_TESTS_TESTING_LOSING_COMMUNICATOR_H_
#define TESSERA_TESTS_TESTING_LOSING_COMMUNICATOR_H_
// A rank that finds another one lost when it has what every rank gave to a gather: the others then
// have it, too, and may go on as if nothing had happened. All ranks have one.
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace tessera::testing {

class LosingCommunicator final : public Communicator {
 public:
  // loses: asked after each GatherStringsSync, whose call then throws CommunicatorAborted. `inner`
  // outlives this.
  LosingCommunicator(Communicator& inner, std::function<bool()> loses)
      : Communicator(inner.rank(), inner.size()), inner_(inner), loses_(std::move(loses)) {}

  std::string_view backend() const override { return inner_.backend(); }
  std::unique_ptr<Communicator> Split(int color, int key) override {
    return inner_.Split(color, key);
  }
  void Abort(const std::string& reason) noexcept override { inner_.Abort(reason); }
  std::string abort_reason() const override { return inner_.abort_reason(); }
  Awaitable<std::vector<Tensor>> AllToAllV(Context& ctx, std::vector<Tensor> send,
                                           std::vector<int64_t> receive_counts,
                                           std::string_view what) override {
    return inner_.AllToAllV(ctx, std::move(send), std::move(receive_counts), what);
  }
  Awaitable<void> Send(Context& ctx, const Tensor& tensor, int to, std::string_view what) override {
    return inner_.Send(ctx, tensor, to, what);
  }
  Awaitable<Tensor> Receive(Context& ctx, const Shape& shape, DType dtype, int from,
                            std::string_view what) override {
    return inner_.Receive(ctx, shape, dtype, from, what);
  }
  std::vector<std::string> GatherStringsSync(const std::string& mine,
                                             std::string_view what) override {
    std::vector<std::string> all = inner_.GatherStringsSync(mine, what);
    if (loses_()) throw CommunicatorAborted("a rank is lost");
    return all;
  }
  std::vector<std::vector<int64_t>> ExchangeNumbersSync(
      const std::vector<std::vector<int64_t>>& send, std::string_view what) override {
    return inner_.ExchangeNumbersSync(send, what);
  }

 private:
  Communicator& inner_;
  std::function<bool()> loses_;
};

// For `loses`: rank 1 loses rank 0 in the save for which it writes the file `part`, once rank 0 has
// written `commit` since.
inline std::function<bool()> LosesInSave(const Communicator& comm, const std::string& part,
                                         const std::string& commit) {
  namespace fs = std::filesystem;
  return [=, rank = comm.rank()] {
    if (rank != 1 || !fs::exists(part)) return false;
    while (!fs::exists(commit) || fs::last_write_time(commit) < fs::last_write_time(part))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return true;
  };
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TESTING_LOSING_COMMUNICATOR_H_
