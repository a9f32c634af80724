#include "channel.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <new>

namespace qkprof::inject {
namespace {

constexpr std::size_t written_at_once = 64U << 10U;
constexpr std::size_t most_names = 1U << 16U;
// So that a burst of launches does not wait for the other end; as much as the system allows.
constexpr int send_buffer_bytes = 4 << 20;

int connect_to(std::string_view name) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
    std::copy_n(name.data(), length, &address.sun_path[1]);  // after a zero: in no file system
    const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
        return -1;
    }
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes, sizeof send_buffer_bytes);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
    if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), size) != 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

std::string command_line() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::string words{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    while (!words.empty() && words.back() == '\0') {
        words.pop_back();
    }
    std::replace(words.begin(), words.end(), '\0', ' ');
    return words;
}

}  // namespace

Descriptor::Descriptor(int number) : number_(number) {
    constexpr int seldom_used = 500;
    if (const int moved = fcntl(number, F_DUPFD_CLOEXEC, seldom_used); moved >= 0) {
        ::close(number);
        number_ = moved;
    }
    struct stat status = {};
    if (fstat(number_, &status) == 0) {
        device_ = status.st_dev;
        file_ = status.st_ino;
    }
}

bool Descriptor::is_own() const {
    struct stat status = {};
    return number_ >= 0 && fstat(number_, &status) == 0 && status.st_dev == device_ && status.st_ino == file_;
}

void Descriptor::close() {
    if (is_own()) {
        ::close(number_);
    }
    number_ = -1;
}

std::uint64_t now() {
    timespec time = {};
    clock_gettime(CLOCK_REALTIME, &time);
    constexpr std::uint64_t nanoseconds = 1'000'000'000;
    return static_cast<std::uint64_t>(time.tv_sec) * nanoseconds + static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint32_t thread_number() {
    thread_local const auto number = static_cast<std::uint32_t>(syscall(SYS_gettid));
    return number;
}

Channel& Channel::instance() {
    static auto* const channel = new Channel;
    return *channel;
}

Channel::Channel() {
    // The lock is held over a fork, so that the child does not inherit one that another thread holds.
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] {
                       instance().forget();
                       new (&instance().mutex_) std::mutex;
                   });
}

bool Channel::is_own() const { return process_ == getpid(); }

void Channel::forget() {
    descriptor_.close();
    state_ = State::not_yet;
    ++generation_;
    pending_.clear();
    names_.clear();
}

void Channel::open() {
    const char* name = std::getenv(exec::socket_variable);
    const int connected = name == nullptr || *name == '\0' ? -1 : connect_to(name);
    state_ = connected < 0 ? State::closed : State::open;
    process_ = getpid();
    descriptor_ = connected < 0 ? Descriptor() : Descriptor(connected);
    if (state_ == State::open) {
        say_hello();
        write_pending();  // so that the other end knows of this process whatever becomes of it
    }
}

void Channel::say_hello() {
    exec::Hello hello;
    hello.process = process_;
    hello.parent = getppid();
    hello.time = now();
    append(exec::MessageKind::hello, &hello, sizeof hello, command_line());
}

void Channel::append(exec::MessageKind kind, const void* message, std::size_t bytes, std::string_view text) {
    if (state_ == State::not_yet) {
        open();
    }
    if (state_ != State::open) {
        return;
    }
    text = text.substr(0, exec::most_message_bytes - sizeof(exec::Header) - bytes);
    exec::Header header;
    header.bytes = static_cast<std::uint32_t>(sizeof header + bytes + text.size());
    header.kind = kind;
    const auto* const begin = reinterpret_cast<const char*>(&header);
    pending_.insert(pending_.end(), begin, begin + sizeof header);
    const auto* const body = static_cast<const char*>(message);
    pending_.insert(pending_.end(), body, body + bytes);
    pending_.insert(pending_.end(), text.begin(), text.end());
    if (pending_.size() >= written_at_once) {
        write_pending();
    }
}

// Nobody listens any more, or the program has closed the connection: it goes on alone.
void Channel::give_up() {
    descriptor_.close();
    state_ = State::closed;
}

void Channel::write_pending() {
    if (state_ == State::open && !descriptor_.is_own()) {
        give_up();
    }
    std::size_t written = 0;
    while (state_ == State::open && written < pending_.size()) {
        const ssize_t count =
            ::send(descriptor_.number(), pending_.data() + written, pending_.size() - written, MSG_NOSIGNAL);
        if (count > 0) {
            written += static_cast<std::size_t>(count);
        } else if (errno != EINTR) {
            give_up();
        }
    }
    pending_.clear();
}

std::uint32_t Channel::Sending::name(std::string_view text) {
    std::unordered_map<std::string, std::uint32_t>& names = channel_.names_;
    if (names.size() >= most_names && names.find(std::string(text)) == names.end()) {
        text = "(others)";
    }
    const auto [found, is_new] = names.try_emplace(std::string(text), static_cast<std::uint32_t>(names.size() + 1));
    if (is_new) {
        exec::Name message;
        message.name = found->second;
        send(exec::MessageKind::name, message, text);
    }
    return found->second;
}

}  // namespace qkprof::inject
