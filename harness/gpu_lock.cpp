#include "gpu_lock.h"

#include "error.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace qkprof {
namespace {

struct Address {
    sockaddr_un name = {};
    socklen_t size = 0;

    explicit Address(const std::string& uuid) {
        name.sun_family = AF_UNIX;
        const std::string text = "qkprof." + uuid;
        const std::size_t length = std::min(text.size(), sizeof name.sun_path - 1);
        std::copy_n(text.data(), length, &name.sun_path[1]);  // after a zero: in no file system
        size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
    }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

int new_socket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

// The process that listens there; 0 where it cannot be told, as from another container.
pid_t holder_of(const Address& address) {
    const int asking = new_socket();
    ucred who = {};
    socklen_t size = sizeof who;
    const bool known = asking >= 0 && connect(asking, address.get(), address.size) == 0 &&
                       getsockopt(asking, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
    if (asking >= 0) {
        close(asking);
    }
    return known ? who.pid : 0;
}

}  // namespace

GpuLock::GpuLock(const std::string& uuid, const std::string& gpu) : socket_(new_socket()) {
    const Address address(uuid);
    if (socket_ >= 0 && bind(socket_, address.get(), address.size) == 0 && listen(socket_, SOMAXCONN) == 0) {
        return;
    }
    const bool taken = socket_ >= 0 && errno == EADDRINUSE;
    if (socket_ >= 0) {
        close(socket_);
        socket_ = -1;
    }
    if (!taken) {
        return;
    }
    const pid_t holder = holder_of(address);
    if (holder != 0 && holder == getppid()) {
        return;
    }
    throw CannotMeasure(fmt::format(
        "The GPU {} ({}) is being measured by another qkprof{}, and two at once would measure each other: wait for its "
        "end, or give each process a GPU of its own (--device cuda:N, CUDA_VISIBLE_DEVICES).",
        uuid, gpu, holder == 0 ? "" : fmt::format(", process {}", holder)));
}

GpuLock::~GpuLock() {
    if (socket_ >= 0) {
        close(socket_);
    }
}

}  // namespace qkprof
