#include "watch.h"

#include "channel.h"
#include "cupti_library.h"
#include "ranges.h"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof::inject {
namespace {

using cuda::cupti_failure;
using cuda::cupti_library;
using exec::MessageKind;
using exec::SubmissionKind;
using exec::TransferKind;

constexpr std::size_t buffer_bytes = 1U << 20U;
constexpr std::size_t buffer_alignment = 64;  // CUPTI asks for 8
constexpr std::uint32_t hand_over_milliseconds = 100;

enum class State : std::uint8_t { off, watching, ended };
std::atomic<State> state = State::off;

// What a function of the driver's, by its number, submits.
struct Submits {
    bool anything = false;
    SubmissionKind kind = SubmissionKind::kernel;
};
std::vector<Submits>& submits() {
    static auto* const table = new std::vector<Submits>;
    return *table;
}

// Of launches, copies and fills, but those of graphs and batches: as many are to be recorded as were submitted.
std::atomic<std::int64_t> submitted = 0;
std::atomic<std::int64_t> recorded = 0;

// Whether the calling thread's call to the driver was captured into a graph.
thread_local bool captured = false;

Submits submitted_by(std::string_view function) {
    const auto begins = [&](const char* with) { return function.substr(0, std::string_view(with).size()) == with; };
    if (function.find("Batch") != std::string_view::npos) {
        return {begins("cuMemcpy"), SubmissionKind::graph};  // many copies in one call
    }
    if (begins("cuGraphLaunch")) {
        return {true, SubmissionKind::graph};
    }
    if (begins("cuLaunch")) {
        return {!begins("cuLaunchHostFunc"), SubmissionKind::kernel};
    }
    if (begins("cuMemcpy")) {
        return {true, SubmissionKind::copy};
    }
    return {begins("cuMemset"), SubmissionKind::fill};
}

void on_driver_call(CUpti_CallbackId function, const CUpti_CallbackData& call) {
    if (function >= submits().size() || !submits()[function].anything) {
        return;
    }
    if (call.callbackSite == CUPTI_API_ENTER) {
        captured = false;
        exec::Submission message;
        message.range = open_range();
        message.correlation = call.correlationId;
        message.thread = thread_number();
        message.kind = submits()[function].kind;
        message.time = now();
        submitted += message.kind == SubmissionKind::graph ? 0 : 1;
        Channel::Sending(Channel::instance()).send(MessageKind::submission, message);
        return;
    }
    const auto* const result = static_cast<const CUresult*>(call.functionReturnValue);
    if (captured || (result != nullptr && *result != CUDA_SUCCESS)) {
        exec::Cancelled message;
        message.correlation = call.correlationId;
        submitted -= submits()[function].kind == SubmissionKind::graph ? 0 : 1;
        Channel::Sending(Channel::instance()).send(MessageKind::cancelled, message);
    }
}

void CUPTIAPI on_event(void*, CUpti_CallbackDomain domain, CUpti_CallbackId function, const void* data) {
    if (state != State::watching) {
        return;
    }
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
        on_driver_call(function, *static_cast<const CUpti_CallbackData*>(data));
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE && function == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
        captured = true;
    }
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
    *size = *buffer == nullptr ? 0 : buffer_bytes;
    *most_records = 0;  // as many as fit
}

TransferKind kind_of(std::uint8_t copy) {
    switch (copy) {
        case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
        case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
            return TransferKind::host_to_device;
        case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
        case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
            return TransferKind::device_to_host;
        case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
        case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
        case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
        case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
            return TransferKind::device_to_device;
        case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
            return TransferKind::host_to_host;
        case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
            return TransferKind::peer_to_peer;
        default:
            return TransferKind::other_copy;
    }
}

template <class Record>
exec::Transfer transfer_of(const Record& record, TransferKind kind) {
    exec::Transfer message;
    message.start = record.start;
    message.end = record.end;
    message.bytes = record.bytes;
    message.correlation = record.correlationId;
    message.device = record.deviceId;
    message.stream = record.streamId;
    message.graph = record.graphId;
    message.kind = kind;
    recorded += message.graph == 0 ? 1 : 0;
    return message;
}

void send_record(Channel::Sending& channel, const CUpti_Activity& any) {
    switch (any.kind) {
        case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
            const auto& record = reinterpret_cast<const CUpti_ActivityKernel10&>(any);
            exec::Kernel message;
            message.start = record.start;
            message.end = record.end;
            message.correlation = record.correlationId;
            message.name = channel.name(record.name == nullptr ? "" : record.name);
            message.device = record.deviceId;
            message.stream = record.streamId;
            message.graph = record.graphId;
            message.grid[0] = record.gridX;
            message.grid[1] = record.gridY;
            message.grid[2] = record.gridZ;
            message.block[0] = record.blockX;
            message.block[1] = record.blockY;
            message.block[2] = record.blockZ;
            message.registers = record.registersPerThread;
            message.static_shared = static_cast<std::uint32_t>(record.staticSharedMemory);
            message.dynamic_shared = static_cast<std::uint32_t>(record.dynamicSharedMemory);
            recorded += message.graph == 0 ? 1 : 0;
            channel.send(MessageKind::kernel, message);
            break;
        }
        case CUPTI_ACTIVITY_KIND_MEMCPY: {
            const auto& record = reinterpret_cast<const CUpti_ActivityMemcpy6&>(any);
            channel.send(MessageKind::transfer, transfer_of(record, kind_of(record.copyKind)));
            break;
        }
        case CUPTI_ACTIVITY_KIND_MEMCPY2: {  // between GPUs
            const auto& record = reinterpret_cast<const CUpti_ActivityMemcpyPtoP4&>(any);
            channel.send(MessageKind::transfer, transfer_of(record, TransferKind::peer_to_peer));
            break;
        }
        case CUPTI_ACTIVITY_KIND_MEMSET:
            channel.send(MessageKind::transfer,
                         transfer_of(reinterpret_cast<const CUpti_ActivityMemset4&>(any), TransferKind::fill));
            break;
        case CUPTI_ACTIVITY_KIND_DEVICE: {
            const auto& record = reinterpret_cast<const CUpti_ActivityDevice5&>(any);
            exec::Device message;
            message.device = record.id;
            channel.send(MessageKind::device, message, record.name == nullptr ? "" : record.name);
            break;
        }
        default:
            break;
    }
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) {
    const cuda::CuptiLibrary& cupti = cupti_library();
    Channel::Sending channel(Channel::instance());
    CUpti_Activity* record = nullptr;
    while (valid_bytes > 0 && cupti.activity.get_next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
        send_record(channel, *record);
    }
    std::size_t dropped = 0;
    if (cupti.activity.get_dropped(nullptr, 0, &dropped) == CUPTI_SUCCESS && dropped != 0) {
        exec::Dropped message;
        message.records = dropped;
        channel.send(MessageKind::dropped, message);
    }
    channel.flush();
    std::free(buffer);
}

std::uint64_t CUPTIAPI timestamp() { return now(); }

// Which of the driver's functions are told to on_event().
CUptiResult choose_functions(CUpti_SubscriberHandle subscriber) {
    submits().resize(CUPTI_DRIVER_TRACE_CBID_SIZE);
    for (CUpti_CallbackId function = 1; function < CUPTI_DRIVER_TRACE_CBID_SIZE; ++function) {
        const char* name = nullptr;
        if (cupti_library().watching.get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, function, &name) != CUPTI_SUCCESS ||
            name == nullptr) {
            continue;
        }
        submits()[function] = submitted_by(name);
        if (!submits()[function].anything) {
            continue;
        }
        const CUptiResult result =
            cupti_library().watching.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, function);
        if (result != CUPTI_SUCCESS) {
            return result;
        }
    }
    return cupti_library().watching.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                                    CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
}

// Why CUPTI does not serve here, a clause; empty if it does.
std::string attach() {
    const cuda::CuptiLibrary& cupti = cupti_library();
    if (!cupti.failure.empty()) {
        return cupti.failure;
    }
    if (!cupti.watching_failure.empty()) {
        return cupti.watching_failure;
    }
    CUpti_SubscriberHandle subscriber = nullptr;
    std::string holder(CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN, '\0');
    CUpti_SubscriberParams parameters = {};
    parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    parameters.subscriberName = "qkprof exec";
    parameters.oldSubscriberName = holder.data();
    parameters.oldSubscriberSize = holder.size();
    CUptiResult result = cupti.watching.subscribe(&subscriber, on_event, nullptr, &parameters);
    if (result != CUPTI_SUCCESS) {
        const std::string who = holder.c_str();
        return cupti_failure(result, "attaching") + (who.empty() ? "" : fmt::format(" (it calls itself {})", who));
    }
    if ((result = choose_functions(subscriber)) != CUPTI_SUCCESS) {
        return cupti_failure(result, "asking to be told of launches");
    }
    if ((result = cupti.watching.register_timestamp(timestamp)) != CUPTI_SUCCESS) {
        return cupti_failure(result, "giving it a clock");
    }
    if ((result = cupti.activity.register_callbacks(give_buffer, take_buffer)) != CUPTI_SUCCESS) {
        return cupti_failure(result, "registering for activity records");
    }
    for (const CUpti_ActivityKind kind :
         {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
          CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET}) {
        if ((result = cupti.activity.enable(kind)) != CUPTI_SUCCESS) {
            return cupti_failure(result, "switching activity records on");
        }
    }
    if ((result = cupti.watching.flush_period(hand_over_milliseconds)) != CUPTI_SUCCESS) {
        return cupti_failure(result, "asking for records in time");
    }
    return {};
}

void send_failure(const std::string& reason) {
    Channel::Sending channel(Channel::instance());
    channel.send_text(MessageKind::failure, reason);
    channel.flush();
}

// A profiler of the program's own may use the very library that this uses: then it gets the records, and not this. A
// few that are missing are something else, such as copies of nothing, and are counted by the other end.
void remark_on_losses() {
    constexpr std::int64_t of_ten = 10;
    const std::int64_t lost = submitted - recorded;
    if (lost * of_ten > submitted) {
        Channel::Sending(Channel::instance())
            .send_text(MessageKind::remark,
                       fmt::format("{} launches, copies or fills left no record, although the process ended in order: "
                                   "does it use CUPTI itself, as a profiler does? Then that gets the records once it "
                                   "asks.",
                                   lost));
    }
}

}  // namespace

void watch() {
    State off = State::off;
    if (!state.compare_exchange_strong(off, State::watching)) {
        return;
    }
    if (const std::string failure = attach(); !failure.empty()) {
        state = State::ended;
        send_failure(failure);
        return;
    }
    // The child of a fork cannot use CUDA when its parent has.
    pthread_atfork(nullptr, nullptr, [] { state = State::ended; });
    std::uint32_t version = 0;
    cupti_library().get_version(&version);
    Channel::Sending channel(Channel::instance());
    exec::Attached message;
    message.cupti = version;
    channel.send(MessageKind::attached, message, cupti_library().path);
    channel.flush();
}

void hand_over(bool last) {
    bool sent = true;
    if (state == State::watching) {
        exec::Flushed message;
        message.time = now();
        // Complete buffers and records first; the rest by force, so that a record without times is seen, not awaited.
        sent = cupti_library().activity.flush_all(0) == CUPTI_SUCCESS &&
               (!last || cupti_library().activity.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == CUPTI_SUCCESS);
        if (sent) {
            Channel::Sending(Channel::instance()).send(MessageKind::flushed, message);
        }
    }
    if (last) {
        state = State::ended;
        if (sent) {
            remark_on_losses();
        }
        Channel::Sending channel(Channel::instance());
        if (sent) {
            channel.send_text(MessageKind::goodbye, {});
        }
        channel.flush();
    }
}

}  // namespace qkprof::inject
