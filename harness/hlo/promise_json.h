// A promise as JSON, for programs.
#pragma once

#include "before.h"
#include "buffers.h"
#include "dump.h"
#include "observed.h"
#include "promise.h"

#include <nlohmann/json.hpp>

#include <string>

namespace qkprof::hlo {

inline constexpr int promise_schema = 1;

// An unknown number is null.
nlohmann::ordered_json json_of(const Count& count);
// What it is joined with; each may be null.
struct Beside {
    const Observed* observed = nullptr;
    const BeforeAndAfter* before = nullptr;
    const Buffers* buffers = nullptr;
    const CommandBuffers* commands = nullptr;
};
nlohmann::ordered_json json_of(const Promise& promise, const Beside& beside);
// The same as text. Bytes of the HLO that are no UTF-8 are replaced.
std::string json_text(const Promise& promise, const Beside& beside);

// Of a value that may be unknown.
template <class T>
nlohmann::ordered_json json_of(const std::optional<T>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace qkprof::hlo
