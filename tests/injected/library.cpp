// In the place of libqkprof_exec.so: loaded into any program by LD_PRELOAD, it speaks the protocol as a process that
// uses CUDA would, of work that is made up. What it tells is chosen by MADE_UP_WORK: "none" (the default), "calls",
// "killed", "nonsense", "stays" (the connection outlives the process that loaded it).
#include "exec/protocol.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace {

using namespace qkprof::exec;

int connection = -1;

std::uint64_t now() {
    timespec time = {};
    clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

void send_all(const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t count = send(connection, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
        if (count <= 0) {
            return;
        }
        at += static_cast<std::size_t>(count);
    }
}

template <class T>
void tell(MessageKind kind, const T& body, const std::string& text = {}) {
    Header header;
    header.bytes = static_cast<std::uint32_t>(sizeof header + sizeof body + text.size());
    header.kind = kind;
    std::string bytes(sizeof header + sizeof body, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, &body, sizeof body);
    send_all(bytes + text);
}

bool connect_to_parent() {
    const char* name = std::getenv(socket_variable);
    if (name == nullptr) {
        return false;
    }
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(&address.sun_path[1], name, std::strlen(name));
    connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + std::strlen(name));
    return connect(connection, reinterpret_cast<const sockaddr*>(&address), length) == 0;
}

std::string command_line() {
    std::string text(4096, '\0');
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t count = read(file, text.data(), text.size());
    close(file);
    text.resize(count > 0 ? static_cast<std::size_t>(count) - 1 : 0);
    for (char& c : text) {
        c = c == '\0' ? ' ' : c;
    }
    return text;
}

// Three calls of the range made-up@step, each with two launches by submissions of their own.
void tell_calls(bool all_records) {
    const std::uint64_t start = now();
    tell(MessageKind::device, Device{.device = 0}, "Made-up GPU");
    tell(MessageKind::name, Name{.name = 1}, "_Z6kernelPfi");
    tell(MessageKind::name, Name{.name = 2}, "made-up");
    tell(MessageKind::name, Name{.name = 3}, "step");
    std::uint32_t correlation = 0;
    for (std::uint64_t call = 1; call <= 3; ++call) {
        tell(MessageKind::push, Push{.time = start + call * 1000, .range = call, .thread = 1, .domain = 2, .name = 3});
        for (int launch = 0; launch < 2; ++launch) {
            ++correlation;
            tell(MessageKind::submission,
                 Submission{.time = start + call * 1000 + 10, .range = call, .correlation = correlation, .thread = 1});
        }
        tell(MessageKind::pop, Pop{.time = start + call * 1000 + 500, .range = call});
    }
    for (std::uint32_t i = 1; i <= correlation && (all_records || i <= 4); ++i) {
        Kernel kernel;
        kernel.start = start + i * 10'000;
        kernel.end = kernel.start + 5000;
        kernel.correlation = i;
        kernel.name = 1;
        kernel.stream = 7;
        for (int axis = 0; axis < 3; ++axis) {
            kernel.grid[axis] = kernel.block[axis] = axis == 0 ? 128 : 1;
        }
        tell(MessageKind::kernel, kernel);
    }
}

void say_goodbye() {
    Header header;
    header.bytes = sizeof header;
    header.kind = MessageKind::goodbye;
    send_all(std::string(reinterpret_cast<const char*>(&header), sizeof header));
}

__attribute__((constructor)) void begin() {
    const char* chosen = std::getenv("MADE_UP_WORK");
    const std::string work = chosen == nullptr ? "none" : chosen;
    if (!connect_to_parent()) {
        return;
    }
    Hello hello;
    hello.process = getpid();
    hello.parent = getppid();
    hello.time = now();
    tell(MessageKind::hello, hello, command_line());
    if (work != "none") {
        tell(MessageKind::attached, Attached{.cupti = 26}, "libcupti.so");
    }
    if (work == "calls" || work == "stays") {
        tell_calls(true);
        say_goodbye();
    } else if (work == "killed") {
        tell_calls(false);
    } else if (work == "nonsense") {
        send_all("this is no message of anybody");
    }
    if (work == "stays" && fork() == 0) {
        sleep(3);
        _exit(0);
    }
}

}  // namespace
