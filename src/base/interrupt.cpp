// Ctrl-C: counted in a handler that does nothing but what is safe in one.
#include <atomic>

#include "base/host.h"

#ifdef _WIN32
#include "base/windows_api.h"
#else
#include <signal.h>
#include <unistd.h>
#endif

namespace athanor {
namespace {

constexpr int kInterruptedExit = 130;  // 128 + SIGINT, as shells tell it

std::atomic<int> interrupts{0};
static_assert(std::atomic<int>::is_always_lock_free, "a lock is not safe in a signal handler");

#ifdef _WIN32
BOOL WINAPI on_interrupt(DWORD) {
  if (interrupts.fetch_add(1) > 0) ExitProcess(kInterruptedExit);
  return TRUE;
}
#else
void on_interrupt(int) {
  if (interrupts.fetch_add(1) > 0) ::_exit(kInterruptedExit);
}
#endif

}  // namespace

void catch_interrupts() {
#ifdef _WIN32
  SetConsoleCtrlHandler(on_interrupt, TRUE);
#else
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  // Drivers and libraries below us do not expect their system calls to be cut short.
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  // A closed terminal ends a run as Ctrl-C does, but for one that nohup started to outlive it.
  struct sigaction hangup{};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
#endif
}

bool interrupted() { return interrupts.load(std::memory_order_relaxed) > 0; }

}  // namespace athanor
