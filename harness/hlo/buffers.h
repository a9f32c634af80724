// XLA's buffer assignment, as --xla_dump_to writes it: what memory a module takes, and for which values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof::hlo {

struct BufferValue {
    std::string instruction;
    std::string index;  // within a tuple, "{1}"; or empty
    std::string shape;
    std::int64_t bytes = 0;
};

struct Allocation {
    enum class Kind : std::uint8_t { parameter, output, temporary, constant, thread_local_memory, other };
    Kind kind = Kind::other;
    std::int64_t number = 0;
    std::int64_t bytes = 0;
    std::vector<BufferValue> values;  // that lie in it, one after the other where they overlap
};

struct Buffers {
    std::vector<Allocation> allocations;

    std::int64_t total() const;
    std::int64_t total(Allocation::Kind kind) const;
    // Values in temporary memory, the largest first.
    std::vector<BufferValue> temporaries() const;
};

inline constexpr std::uintmax_t largest_buffers = std::uintmax_t{64} << 20U;  // bytes of text

// Throws InputError, naming `source` and the line, for text that is no buffer assignment.
Buffers parse_buffers(std::string_view text, const std::string& source);
Buffers read_buffers(const std::filesystem::path& path);

std::vector<std::string> sentences_of(const Buffers& buffers);

}  // namespace qkprof::hlo
