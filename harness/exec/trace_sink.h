// Who wants to know of each single kernel, transfer and range as it comes: perfetto_trace.h.
#pragma once

#include "protocol.h"

#include <cstdint>
#include <string_view>

namespace qkprof::exec {

// Processes are numbered by connection. All have times; names are for people.
class TraceSink {
  public:
    virtual ~TraceSink() = default;
    virtual void process(std::uint32_t connection, std::int32_t process, std::string_view command) = 0;
    virtual void gpu(std::uint32_t connection, std::uint32_t device, std::string_view name) = 0;
    // `submission` is null where it is not known.
    virtual void kernel(std::uint32_t connection, const Kernel& kernel, std::string_view name,
                        const Submission* submission) = 0;
    virtual void transfer(std::uint32_t connection, const Transfer& transfer, const Submission* submission) = 0;
    // `end` is 0 for one that was never popped.
    virtual void range(std::uint32_t connection, std::uint32_t thread, std::uint64_t start, std::uint64_t end,
                       std::string_view text) = 0;
};

}  // namespace qkprof::exec
