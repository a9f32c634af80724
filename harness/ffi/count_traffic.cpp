// A library of one function for programs of other languages, such as Python by ctypes: the memory traffic of a call by
// hardware counters, as the program counts that of its variants (harness/cuda/traffic.h). Not under `qkprof exec`,
// which holds CUPTI.
#include "traffic.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <vector>

namespace {

std::string counters_of(void (*prepare)(), void (*call)()) {
    nlohmann::json counters = nlohmann::json::object();
    qkprof::cuda::TrafficJob job;
    job.run = [&](const qkprof::cuda::TrafficJob::Counted& counted) {
        prepare();
        counted(call);
    };
    job.bulk_copies = true;  // nobody says whether it uses the bulk copy engine
    const std::array jobs = {job};
    const std::vector<qkprof::Counters> counted =
        qkprof::cuda::count_traffic(qkprof::cuda::current_context(), jobs, {});
    for (const auto& [name, counter] : counted.front()) {
        counters[name] =
            counter.value ? nlohmann::json{{"value", *counter.value}} : nlohmann::json{{"reason", counter.reason}};
    }
    return counters.dump();
}

}  // namespace

// `prepare` puts the caches into their state, and `call` is what is counted; each ends with a synchronisation, and
// they run once a pass. The counters go to `text`, as JSON: by name {"value": number} or {"reason": clause}; or, where
// there are none at all, {"failure": sentence}. Returns the bytes of it, with the zero at its end: where they are more
// than `capacity` nothing is written.
extern "C" std::size_t qkprof_count_traffic(void (*prepare)(), void (*call)(), char* text, std::size_t capacity) {
    std::string answer;
    try {
        answer = counters_of(prepare, call);
    } catch (const std::exception& error) {
        answer = nlohmann::json{{"failure", error.what()}}.dump();
    }
    if (answer.size() < capacity) {
        std::copy_n(answer.c_str(), answer.size() + 1, text);
    }
    return answer.size() + 1;
}
