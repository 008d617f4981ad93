#include "serve/last_holder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

namespace tessera::serve {
namespace {

// Tells which thread frees it.
class Freed {
 public:
  explicit Freed(std::thread::id& by) : by_(by) {}
  ~Freed() { by_ = std::this_thread::get_id(); }

 private:
  std::thread::id& by_;
};

TEST(LetGo, FreesWhatAnotherThreadHoldsForAWhile) {
  std::thread::id by;
  auto object = std::make_shared<Freed>(by);
  std::thread other([held = object]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    held.reset();
  });
  LetGo(std::move(object), std::chrono::minutes(5));
  EXPECT_EQ(by, std::this_thread::get_id());
  other.join();
}

TEST(LetGo, LeavesWhatIsHeldLongerToItsHolder) {
  std::thread::id by;
  auto object = std::make_shared<Freed>(by);
  LetGo(std::shared_ptr<Freed>(object), std::chrono::milliseconds(5));
  EXPECT_EQ(by, std::thread::id());
  std::thread([held = std::move(object)]() mutable { held.reset(); }).join();
  EXPECT_NE(by, std::thread::id());
  EXPECT_NE(by, std::this_thread::get_id());
}

}  // namespace
}  // namespace tessera::serve
