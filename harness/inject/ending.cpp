#include "ending.h"

#include "channel.h"
#include "watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
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
struct Pipes {
    int wake[2] = {-1, -1};
    int done[2] = {-1, -1};
};
Pipes pipes;
std::atomic<pid_t> watched = 0;  // the process that they are of: not one that was forked from it

void on_killing_signal(int signal) {
    const int error = errno;
    const char byte = 1;
    if (watched == getpid() && write(pipes.wake[1], &byte, 1) == 1) {
        pollfd waiting = {pipes.done[0], POLLIN, 0};
        poll(&waiting, 1, patience_milliseconds);
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
    char byte = 0;
    while (read(pipes.wake[0], &byte, 1) < 0 && errno == EINTR) {
    }
    if (byte == 0) {
        return;
    }
    hand_over_once();
    while (write(pipes.done[1], &byte, 1) < 0 && errno == EINTR) {
    }
}

}  // namespace

void watch_the_end() {
    if (watched.exchange(getpid()) == getpid()) {
        return;
    }
    std::atexit(hand_over_once);
    at_quick_exit(hand_over_once);
    if (pipe2(pipes.wake, O_CLOEXEC) != 0 || pipe2(pipes.done, O_CLOEXEC) != 0) {
        return;
    }
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
