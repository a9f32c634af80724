#include "ending.h"

#include "channel.h"
#include "watch.h"

#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <thread>

namespace qkprof::inject {
namespace {

constexpr int killing_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGTERM};
constexpr int patience_milliseconds = 2000;  // the thread that was hit may hold what the other needs

std::atomic_flag handed_over = ATOMIC_FLAG_INIT;

void hand_over_once() {
    // The child of a vfork, which shares this memory, ends by itself.
    if (Channel::instance().is_own() && !handed_over.test_and_set()) {
        hand_over(true);
    }
}

// A signal's handler may do next to nothing: it wakes a thread that does it, and waits for that.
struct Waking {
    sem_t wanted = {};
    std::atomic<bool> done = false;
};
Waking& waking() {
    static auto* const instance = new Waking;
    return *instance;
}
std::atomic<pid_t> watched = 0;  // the process that the thread is of: not one that was forked from it

void on_killing_signal(int signal) {
    const int error = errno;
    if (watched == getpid() && sem_post(&waking().wanted) == 0) {
        constexpr long millisecond = 1'000'000;
        const timespec a_while = {0, millisecond};
        for (int waited = 0; waited < patience_milliseconds && !waking().done; ++waited) {
            nanosleep(&a_while, nullptr);
        }
    }
    errno = error;
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
    raise(signal);  // comes when this returns
}

void wait_for_signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // the program's threads get its signals, as without this one
    while (sem_wait(&waking().wanted) != 0) {
    }
    hand_over_once();
    waking().done = true;
}

}  // namespace

void watch_the_end() {
    if (watched.exchange(getpid()) == getpid()) {
        return;
    }
    std::atexit(hand_over_once);
    at_quick_exit(hand_over_once);
    waking().done = false;
    sem_init(&waking().wanted, 0, 0);
    std::thread(wait_for_signals).detach();
    for (const int signal : killing_signals) {
        struct sigaction before = {};
        if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL &&
            (before.sa_flags & SA_SIGINFO) == 0) {
            struct sigaction ours = {};
            ours.sa_handler = on_killing_signal;
            sigemptyset(&ours.sa_mask);
            sigaction(signal, &ours, nullptr);
        }
    }
}

}  // namespace qkprof::inject

// Preloaded, these stand before the C library's: Python's os._exit and the children of its multiprocessing end so.
extern "C" {

__attribute__((visibility("default"), noreturn)) void _exit(int status) {  // NOLINT: the C library's name
    qkprof::inject::hand_over_once();
    for (;;) {
        syscall(SYS_exit_group, status);
    }
}

__attribute__((visibility("default"), noreturn)) void _Exit(int status) { _exit(status); }  // NOLINT
}
