// What the injected library tells `qkprof exec` of the process that it sits in: a stream of messages over a local
// socket, one connection a process. Both ends are of one build and one machine: plain structs, in the machine's byte
// order.
//
// A message is a Header, the struct of its kind, and for some a text. Times are nanoseconds of CLOCK_REALTIME, the
// GPU's among them. Names are numbered per connection and told before they are used. A submission is told before the
// records of what it submitted, a push before what is submitted inside it.
#pragma once

#include <cstdint>

namespace qkprof::exec {

inline constexpr std::uint32_t protocol_version = 1;
inline constexpr std::uint32_t most_message_bytes = 64U << 10U;

// The variable that names the socket, in the abstract namespace, to the library.
inline constexpr const char* socket_variable = "QKPROF_EXEC_SOCKET";

enum class MessageKind : std::uint16_t {
    hello,     // first of a connection
    attached,  // the process uses CUDA and is watched from here on; text: the file of CUPTI's library
    failure,   // nothing is recorded here, or nothing more; text: why, a clause
    remark,    // text: a sentence for people
    device,    // text: the GPU's name
    name,      // text: of a kernel as CUPTI gives it (mangled), of a range or of a domain
    kernel,
    transfer,
    submission,
    cancelled,
    push,
    pop,
    dropped,
    flushed,
    goodbye  // the process ends and all of its records are sent
};

struct Header {
    std::uint32_t bytes = 0;  // of the whole message
    MessageKind kind = MessageKind::hello;
    std::uint16_t reserved = 0;
};

struct Hello {
    std::uint32_t protocol = protocol_version;
    std::int32_t process = 0;
    std::int32_t parent = 0;
    std::uint64_t time = 0;
};  // text: the command line, its words joined by blanks

struct Attached {
    std::uint32_t cupti = 0;  // its version, as cuptiGetVersion gives it
};

struct Device {
    std::uint32_t device = 0;  // as CUDA numbers them in this process
};

struct Name {
    std::uint32_t name = 0;
};

// One execution of a kernel.
struct Kernel {
    std::uint64_t start = 0;  // 0: unknown
    std::uint64_t end = 0;
    std::uint32_t correlation = 0;  // of the submission
    std::uint32_t name = 0;
    std::uint32_t device = 0;
    std::uint32_t stream = 0;
    std::uint32_t graph = 0;  // 0: not launched by a graph
    std::int32_t grid[3] = {};
    std::int32_t block[3] = {};
    std::uint32_t registers = 0;  // a thread
    std::uint32_t static_shared = 0;
    std::uint32_t dynamic_shared = 0;
};

enum class TransferKind : std::uint8_t {
    host_to_device,
    device_to_host,
    device_to_device,
    peer_to_peer,
    host_to_host,
    other_copy,
    fill
};

// One copy or fill of memory that is no kernel.
struct Transfer {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t bytes = 0;
    std::uint32_t correlation = 0;
    std::uint32_t device = 0;
    std::uint32_t stream = 0;
    std::uint32_t graph = 0;
    TransferKind kind = TransferKind::other_copy;
    std::uint8_t reserved[7] = {};
};

// graph: of many records, a graph's or a batch's.
enum class SubmissionKind : std::uint8_t { kernel, graph, copy, fill };

// A call of the host that asks for work on the GPU.
struct Submission {
    std::uint64_t time = 0;
    std::uint64_t range = 0;  // the innermost open range of the calling thread; 0: none
    std::uint32_t correlation = 0;
    std::uint32_t thread = 0;
    SubmissionKind kind = SubmissionKind::kernel;
    std::uint8_t reserved[7] = {};
};

// The call submitted nothing after all: it failed, or was captured into a graph.
struct Cancelled {
    std::uint32_t correlation = 0;
};

// An NVTX range begins, of any domain. Ranges of one thread nest in the order of time, whatever their domains.
struct Push {
    std::uint64_t time = 0;
    std::uint64_t range = 0;   // its number, from 1, each once
    std::uint64_t parent = 0;  // 0: none
    std::uint32_t thread = 0;
    std::uint32_t domain = 0;  // a name; 0: the default domain
    std::uint32_t name = 0;
    std::uint32_t reserved = 0;
};

struct Pop {
    std::uint64_t time = 0;
    std::uint64_t range = 0;
};

// CUPTI had no room for so many records.
struct Dropped {
    std::uint64_t records = 0;
};

// The records of all work that had ended at this time are sent.
struct Flushed {
    std::uint64_t time = 0;
};

}  // namespace qkprof::exec
