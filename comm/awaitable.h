#ifndef TESSERA_COMM_AWAITABLE_H_
#define TESSERA_COMM_AWAITABLE_H_
// An Awaitable is the result of a collective, which may still be on its way: ranks compute while it
// travels. It is move-only and waited for once, by the thread that made the call.
//
//   Awaitable<Tensor> sum = comm.AllReduce(ctx, gradient, "dense gradients");
//   …                                                    // work that does not need it
//   gradient = std::move(sum).Wait();
//
// On a GPU Wait returns when the result's place in the context's stream is known: later ops on that
// context see it, the host does not wait.
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "runtime/base/check.h"

namespace tessera {

template <typename T>
class Awaitable {
 public:
  Awaitable() = default;  // nothing to wait for: Wait throws Error
  // finish() is called once, by Wait.
  template <typename Fn>
  requires std::is_invocable_r_v<T, Fn&>
  explicit Awaitable(Fn finish) : finish_(std::make_unique<Finish<Fn>>(std::move(finish))) {}
  Awaitable(Awaitable&&) noexcept = default;
  Awaitable& operator=(Awaitable&&) noexcept = default;

  bool valid() const { return finish_ != nullptr; }
  // The result. Throws what the call or a rank failed with, and Error if it was waited for before.
  T Wait() {
    TESSERA_CHECK(finish_ != nullptr, "Wait of an Awaitable that was waited for, or never was");
    const auto finish = std::move(finish_);
    return finish->Call();
  }
  // fn(result), called by the Wait of what this returns. This one is empty afterwards.
  template <typename Fn>
  auto Then(Fn fn) {
    if constexpr (std::is_void_v<T>) {
      using U = std::invoke_result_t<Fn&>;
      return Awaitable<U>([first = std::move(*this), fn = std::move(fn)]() mutable -> U {
        first.Wait();
        return fn();
      });
    } else {
      using U = std::invoke_result_t<Fn&, T>;
      return Awaitable<U>([first = std::move(*this), fn = std::move(fn)]() mutable -> U {
        return fn(first.Wait());
      });
    }
  }

 private:
  struct AnyFinish {
    virtual ~AnyFinish() = default;
    virtual T Call() = 0;
  };
  template <typename Fn>
  struct Finish final : AnyFinish {
    explicit Finish(Fn f) : fn(std::move(f)) {}
    T Call() override { return fn(); }
    Fn fn;
  };

  std::unique_ptr<AnyFinish> finish_;
};

}  // namespace tessera
#endif  // TESSERA_COMM_AWAITABLE_H_
