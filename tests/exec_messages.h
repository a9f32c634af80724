// Made-up processes that tell a collector what they do, in the bytes that an injected library sends.
#pragma once

#include "exec/collector.h"

#include <cstdint>
#include <map>
#include <string>

namespace qkprof::exec {

class MadeUpProcess {
  public:
    explicit MadeUpProcess(Collector& collector, std::int32_t process = 100, std::uint32_t cupti = 26)
        : collector_(collector), connection_(collector.opened()) {
        tell(encoded(MessageKind::hello, Hello{.process = process, .parent = 1, .time = 1}, "made up"));
        if (cupti != 0) {
            tell(encoded(MessageKind::attached, Attached{.cupti = cupti}, "libcupti.so"));
        }
    }

    std::uint32_t connection() const { return connection_; }

    void tell(const std::string& bytes) {
        decoder_.feed(bytes);
        while (const auto message = decoder_.next()) {
            collector_.receive(connection_, *message);
        }
    }
    template <class T>
    void tell(MessageKind kind, const T& body) {
        tell(encoded(kind, body));
    }

    std::uint32_t name(const std::string& text) {
        const auto [found, added] = names_.try_emplace(text, static_cast<std::uint32_t>(names_.size() + 1));
        if (added) {
            tell(encoded(MessageKind::name, Name{.name = found->second}, text));
        }
        return found->second;
    }

    std::uint64_t push(const std::string& text, std::uint64_t parent = 0, const std::string& domain = {},
                       std::uint64_t time = 0) {
        const std::uint32_t domain_name = domain.empty() ? 0 : name(domain);
        ++range_;
        tell(MessageKind::push, Push{.time = time == 0 ? range_ * 1000 : time,
                                     .range = range_,
                                     .parent = parent,
                                     .thread = 1,
                                     .domain = domain_name,
                                     .name = name(text)});
        return range_;
    }
    void pop(std::uint64_t range, std::uint64_t time = 0) {
        tell(MessageKind::pop, Pop{.time = time == 0 ? range * 1000 + 500 : time, .range = range});
    }

    std::uint32_t submit(std::uint64_t range = 0, SubmissionKind kind = SubmissionKind::kernel) {
        ++correlation_;
        tell(MessageKind::submission,
             Submission{.time = correlation_, .range = range, .correlation = correlation_, .thread = 1, .kind = kind});
        return correlation_;
    }
    void cancel(std::uint32_t correlation) { tell(MessageKind::cancelled, Cancelled{.correlation = correlation}); }
    // From `start` on, for so long.
    void kernel(std::uint32_t correlation, const std::string& text, std::uint64_t start, std::uint64_t length,
                std::uint32_t device = 0, std::uint32_t graph = 0) {
        Kernel kernel;
        kernel.start = start;
        kernel.end = start + length;
        kernel.correlation = correlation;
        kernel.name = name(text);
        kernel.device = device;
        kernel.stream = 7;
        kernel.graph = graph;
        for (int axis = 0; axis < 3; ++axis) {
            kernel.grid[axis] = kernel.block[axis] = 1;
        }
        tell(MessageKind::kernel, kernel);
    }
    void copy(std::uint32_t correlation, std::uint64_t start, std::uint64_t length, std::uint64_t bytes) {
        tell(MessageKind::transfer, Transfer{.start = start,
                                             .end = start + length,
                                             .bytes = bytes,
                                             .correlation = correlation,
                                             .kind = TransferKind::host_to_device});
    }
    // A launch with its record, in a range.
    void launch(std::uint64_t range, const std::string& text, std::uint64_t start, std::uint64_t length = 10) {
        kernel(submit(range), text, start, length);
    }

    void goodbye() { tell(encoded_text(MessageKind::goodbye)); }
    void close(std::uint64_t time = 1'000'000, const std::string& fault = {}) {
        collector_.closed(connection_, time, fault);
    }

  private:
    Collector& collector_;
    std::uint32_t connection_;
    Decoder decoder_;
    std::map<std::string, std::uint32_t> names_;
    std::uint64_t range_ = 0;
    std::uint32_t correlation_ = 0;
};

}  // namespace qkprof::exec
