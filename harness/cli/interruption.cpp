#include "interruption.h"

#include <atomic>
#include <csignal>

namespace qkprof::cli {
namespace {

std::atomic<bool> signalled = false;
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

void end_on_signals() {
    struct sigaction action = {};
    action.sa_handler = [](int) { signalled = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    struct sigaction before = {};
    if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) {  // nohup ignores it
        sigaction(SIGHUP, &action, nullptr);
    }
}

bool interrupted() { return signalled; }

}  // namespace qkprof::cli
