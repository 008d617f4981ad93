#include "comm/exchange_time.h"

namespace tessera {
namespace {

thread_local double seconds = 0;
thread_local int depth = 0;

}  // namespace

double SecondsInExchanges() { return seconds; }

internal::ExchangeTime::ExchangeTime() : begin_(std::chrono::steady_clock::now()) { ++depth; }
internal::ExchangeTime::~ExchangeTime() {
  if (--depth > 0) return;
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

}  // namespace tessera
