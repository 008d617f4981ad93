#ifndef TESSERA_CLI_WITHOUT_SIGNALS_H_
#define TESSERA_CLI_WITHOUT_SIGNALS_H_
// Starts threads that take no signals, so that the main thread takes them all.
#include <csignal>

namespace tessera::cli {

// Holds all signals back from this thread, and from those that it starts, for its lifetime.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_WITHOUT_SIGNALS_H_
