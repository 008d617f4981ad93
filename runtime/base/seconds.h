#ifndef TESSERA_RUNTIME_BASE_SECONDS_H_
#define TESSERA_RUNTIME_BASE_SECONDS_H_
// Clocks as seconds with a fraction.
#include <chrono>

namespace tessera::internal {

template <typename Clock>
double SecondsOf() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}
// Since 1970, as the machine's date says; it may jump.
inline double WallTime() { return SecondsOf<std::chrono::system_clock>(); }
// Since a moment that differs between machines and starts; it never goes back.
inline double SteadySeconds() { return SecondsOf<std::chrono::steady_clock>(); }

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_BASE_SECONDS_H_
