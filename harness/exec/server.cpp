#include "server.h"

#include "child.h"
#include "error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <random>
#include <system_error>

namespace qkprof::exec {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds between_calls(20);

std::string last_error() { return std::generic_category().message(errno); }

class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) {
            close(number_);
        }
    }
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&&) = delete;
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int number() const { return number_; }

  private:
    int number_;
};

// Takes the signals that end programs, and that of a child's end, as something to read, to the end of this program:
// what was seen is still to be written.
class Signals {
  public:
    Signals() {
        sigemptyset(&ignored_);
        for (const int signal : {SIGINT, SIGQUIT}) {  // the terminal sends them to the command too, which decides
            struct sigaction before = {};
            sigaction(signal, nullptr, &before);
            if (before.sa_handler != SIG_IGN) {
                struct sigaction ignore = {};
                ignore.sa_handler = SIG_IGN;
                sigaction(signal, &ignore, nullptr);
                sigaddset(&ignored_, signal);
            }
        }
        sigset_t taken;
        sigemptyset(&taken);
        sigaddset(&taken, SIGCHLD);
        sigaddset(&taken, SIGTERM);
        struct sigaction before = {};
        if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) {  // nohup ignores it
            sigaddset(&taken, SIGHUP);
        }
        sigprocmask(SIG_BLOCK, &taken, &mask_);
        descriptor_ = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    ~Signals() { close(descriptor_); }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;
    Signals(Signals&&) = delete;
    Signals& operator=(Signals&&) = delete;

    int descriptor() const { return descriptor_; }
    const sigset_t& mask() const { return mask_; }        // before
    const sigset_t& ignored() const { return ignored_; }  // by this, not before

  private:
    sigset_t ignored_ = {};
    sigset_t mask_ = {};
    int descriptor_ = -1;
};

// A name in the abstract namespace that nobody guesses, and a socket that listens there.
std::pair<std::string, Descriptor> listener() {
    std::random_device random;
    const std::string name = fmt::format("qkprof-exec-{}-{:08x}{:08x}", getpid(), random(), random());
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(&address.sun_path[1], name.data(), name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (socket.number() < 0 || bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
        listen(socket.number(), SOMAXCONN) != 0) {
        throw CannotMeasure(fmt::format("No local socket can be opened to watch the command: {}.", last_error()));
    }
    return {name, std::move(socket)};
}

// Anyone on the machine may connect to an abstract socket.
bool is_own(int socket) {
    ucred peer = {};
    socklen_t size = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0 || geteuid() == 0);
}

class Server {
  public:
    Server(Collector& collector, const Watch& watch) : collector_(collector), watch_(watch) {}

    Ended run(const std::vector<std::string>& command);

  private:
    struct Connection {
        Descriptor socket;
        std::uint32_t number;
        Decoder decoder;
    };

    bool step(int timeout_ms);
    bool accept_all();
    bool receive(Connection& connection);
    bool decode(Connection& connection);
    void take_signals();
    void reap();
    void follow();
    void call_meanwhile(bool told_to_end);

    Collector& collector_;
    const Watch& watch_;
    std::pair<std::string, Descriptor> listener_ = listener();
    Signals signals_;
    std::map<int, Connection> connections_;
    pid_t child_ = -1;
    bool child_ended_ = false;
    bool full_ = false;  // no file can be opened: others connect when one has ended
    int told_ = 0;       // how often this program was told to end
    Ended ended_;
    Clock::time_point next_call_ = Clock::now() + between_calls;
    std::string buffer_ = std::string(std::size_t{1} << 20U, '\0');
};

bool Server::accept_all() {
    bool any = false;
    while (true) {
        Descriptor socket(accept4(listener_.second.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (socket.number() < 0) {
            full_ = errno == EMFILE || errno == ENFILE;
            return any;
        }
        any = true;
        if (is_own(socket.number())) {
            const int number = socket.number();
            connections_.emplace(
                number, Connection{.socket = std::move(socket), .number = collector_.opened(), .decoder = Decoder()});
        }
    }
}

// Whether the connection goes on.
bool Server::decode(Connection& connection) {
    try {
        while (const std::optional<Message> message = connection.decoder.next()) {
            collector_.receive(connection.number, *message);
        }
        return true;
    } catch (const InputError& error) {
        collector_.closed(connection.number, time_now(),
                          fmt::format("what its library sent was not understood: {}", clause_of(error)));
        return false;
    }
}

// Whether the connection goes on. Each has its turn after so many bytes.
bool Server::receive(Connection& connection) {
    constexpr int turns = 8;
    for (int i = 0; i < turns; ++i) {
        const ssize_t count = recv(connection.socket.number(), buffer_.data(), buffer_.size(), 0);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0 && errno == EAGAIN) {
            return true;
        }
        if (count <= 0) {
            collector_.closed(connection.number, time_now(),
                              connection.decoder.within_message() ? "the last of its messages is cut off" : "");
            return false;
        }
        connection.decoder.feed(std::string_view(buffer_).substr(0, static_cast<std::size_t>(count)));
        if (!decode(connection)) {
            return false;
        }
    }
    return true;
}

void Server::reap() {
    int status = 0;
    if (child_ended_ || waitpid(child_, &status, WNOHANG) != child_) {
        return;
    }
    child_ended_ = true;
    if (WIFEXITED(status)) {
        ended_.exit_code = WEXITSTATUS(status);
    } else if (WIFSIGNALED(status)) {
        ended_.signal = WTERMSIG(status);
    }
}

void Server::take_signals() {
    signalfd_siginfo info = {};
    while (read(signals_.descriptor(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        const int signal = static_cast<int>(info.ssi_signo);
        if (signal == SIGCHLD) {
            continue;
        }
        ++told_;
        if (!child_ended_) {
            kill(child_, signal);
        }
        if (told_ > 1 && !child_ended_) {
            ended_.given_up = true;
            ended_.signal = signal;
        }
        call_meanwhile(true);
    }
    reap();
}

// What it does takes at most a part of the time.
void Server::call_meanwhile(bool told_to_end) {
    if (!watch_.meanwhile) {
        return;
    }
    const Clock::time_point begin = Clock::now();
    watch_.meanwhile(told_to_end);
    constexpr int part = 100;
    next_call_ = Clock::now() + std::max<Clock::duration>(between_calls, (Clock::now() - begin) * part);
}

// Whether anything came.
bool Server::step(int timeout_ms) {
    const short listened = full_ ? 0 : POLLIN;
    std::vector<pollfd> polled = {{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0},
                                  {.fd = listener_.second.number(), .events = listened, .revents = 0}};
    for (const auto& [number, connection] : connections_) {
        polled.push_back({.fd = number, .events = POLLIN, .revents = 0});
    }
    if (poll(polled.data(), polled.size(), timeout_ms) <= 0) {
        return false;
    }
    bool any = false;
    for (std::size_t i = 2; i < polled.size(); ++i) {
        if (polled[i].revents == 0) {
            continue;
        }
        any = true;
        const auto found = connections_.find(polled[i].fd);
        if (!receive(found->second)) {
            connections_.erase(found);
            full_ = false;
        }
    }
    if (polled[1].revents != 0) {
        any = accept_all() || any;
    }
    if (polled[0].revents != 0) {
        take_signals();
    }
    return any;
}

// The command has ended: the rest of what was sent, and the other processes.
void Server::follow() {
    const Clock::time_point until = Clock::now() + std::chrono::duration_cast<Clock::duration>(watch_.wait);
    const Clock::time_point drained = Clock::now() + std::chrono::seconds(1);  // what was sent before the end
    constexpr int a_moment = 50;                                               // milliseconds
    while (step(0) && Clock::now() < std::max(until, drained)) {
    }
    while (!connections_.empty() && told_ == 0 && Clock::now() < until) {
        step(a_moment);
    }
}

Ended Server::run(const std::vector<std::string>& command) {
    const std::vector<std::string> environment = injected_environment(injection_library(), listener_.first);
    const Clock::time_point begin = Clock::now();
    child_ = start(command, environment, signals_.mask(), signals_.ignored());
    if (watch_.started) {
        watch_.started();
    }
    constexpr int longest_pause = 1000;  // milliseconds
    while (!child_ended_ && !ended_.given_up) {
        step(longest_pause);
        if (Clock::now() >= next_call_) {
            call_meanwhile(false);
        }
    }
    ended_.wall_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (child_ended_) {
        follow();
    }
    ended_.running = connections_.size();
    return ended_;
}

}  // namespace

Ended run_watched(const std::vector<std::string>& command, Collector& collector, const Watch& watch) {
    return Server(collector, watch).run(command);
}

std::uint64_t time_now() {
    constexpr std::uint64_t billion = 1'000'000'000;
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * billion + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace qkprof::exec
