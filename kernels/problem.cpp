#include "problem.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_set>
#include <utility>

namespace qkprof {
namespace {

// A step that is coprime to n and near to n / golden ratio: its multiples modulo n meet every number once, and
// neighbours land far from one another.
std::int64_t scattering_step(std::int64_t n) {
    auto step = static_cast<std::int64_t>(static_cast<double>(n) * 0.6180339887498949);
    step = std::max<std::int64_t>(step, 1);
    while (std::gcd(step, n) != 1) {
        ++step;
    }
    return step;
}

// FNV-1a over the ids' 64-bit little-endian bytes, folded to 32 bits.
std::uint32_t digest_of(const std::vector<std::int64_t>& ids) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const std::int64_t id : ids) {
        for (unsigned byte = 0; byte < 8; ++byte) {
            hash = (hash ^ ((static_cast<std::uint64_t>(id) >> (byte * 8U)) & 0xffU)) * 0x100000001b3U;
        }
    }
    return static_cast<std::uint32_t>(hash ^ (hash >> 32U));
}

std::string hexadecimal(std::uint32_t value) {
    std::string digits(8, '0');
    for (std::size_t i = 0; i < digits.size(); ++i) {
        digits[digits.size() - 1 - i] = "0123456789abcdef"[value & 0xfU];
        value >>= 4U;
    }
    return digits;
}

std::int64_t largest_power_of_two(std::int64_t bytes) {
    std::int64_t power = 256;
    while (bytes % power != 0) {
        power /= 2;
    }
    return power;
}

}  // namespace

const char* name_of(PositionOrder order) {
    constexpr std::array names = {"ordered", "reversed", "scattered", "repeated", "listed"};
    return names.at(static_cast<std::size_t>(order));
}

const char* name_of(Values values) {
    constexpr std::array names = {"normal", "zeros", "largest", "smallest", "not-finite"};
    return names.at(static_cast<std::size_t>(values));
}

Positions listed_positions(PositionType type, std::vector<std::int64_t> ids) {
    Positions positions = {.type = type, .order = PositionOrder::listed};
    positions.digest = digest_of(ids);
    positions.distinct = static_cast<std::int64_t>(std::unordered_set<std::int64_t>(ids.begin(), ids.end()).size());
    positions.list = std::make_shared<const std::vector<std::int64_t>>(std::move(ids));
    return positions;
}

std::int64_t Problem::q_stride() const {
    const std::int64_t value_heads = key_heads;
    const std::int64_t others = layout == Layout::packed ? key_heads + value_heads : 0;
    return (heads + others) * head_dim + row_padding;
}

std::int64_t Problem::k_stride() const {
    return layout == Layout::packed ? q_stride() : key_heads == 0 ? 0 : key_heads * head_dim + row_padding;
}

std::int64_t Problem::position_of(std::int64_t token) const {
    const std::int64_t count = table_positions();
    switch (positions.order) {
        case PositionOrder::ordered:
            return token % sequence;
        case PositionOrder::reversed:
            return count - 1 - token % count;
        case PositionOrder::scattered:
            return static_cast<std::int64_t>(static_cast<__int128>(token % count) * scattering_step(count) % count);
        case PositionOrder::repeated:
            return token / tokens_a_repeated_position % count;
        case PositionOrder::listed:
            break;
    }
    return positions.list == nullptr ? 0 : positions.list->at(static_cast<std::size_t>(token));
}

std::int64_t Problem::distinct_positions() const {
    switch (positions.order) {
        case PositionOrder::ordered:
            return std::min(tokens(), sequence);
        case PositionOrder::repeated:
            return std::min((tokens() + tokens_a_repeated_position - 1) / tokens_a_repeated_position,
                            table_positions());
        case PositionOrder::listed:
            return positions.distinct;
        default:
            return std::min(tokens(), table_positions());
    }
}

std::int64_t Problem::compulsory_bytes() const {
    if (rows() == 0) {
        return 0;
    }
    const std::int64_t gammas = (heads > 0 ? 1 : 0) + (key_heads > 0 ? 1 : 0);
    return 2 * tensor_bytes() + gammas * gamma_bytes() + distinct_positions() * 2 * table_row_bytes() +
           position_bytes();
}

std::int64_t Problem::alignment() const { return largest_power_of_two(offset * element_bytes()); }

std::int64_t Problem::row_alignment() const {
    const std::int64_t elements = std::gcd(std::gcd(offset, head_dim), std::gcd(q_stride(), k_stride()));
    return largest_power_of_two(elements * element_bytes());
}

bool Problem::is_plain() const {
    return key_heads == 0 && row_padding == 0 && pairing == Pairing::half_split && rotary() == head_dim &&
           positions.type == PositionType::implicit && table_dtype == DataType::f32 && gamma_dtype == DataType::f32 &&
           !gemma;
}

std::string Problem::shape_text() const {
    const std::string keys = key_heads == 0 ? "" : '+' + std::to_string(key_heads);
    return std::to_string(batch) + 'x' + std::to_string(sequence) + 'x' + std::to_string(heads) + keys + 'x' +
           std::to_string(head_dim);
}

std::string Problem::text(char separator) const {
    std::string text = shape_text();
    const auto add = [&](const std::string& word) {
        text += separator;
        text += word;
    };
    const auto add_number = [&](const char* name, std::int64_t number) {
        if (number != 0) {
            add(name + std::to_string(number));
        }
    };
    if (layout == Layout::packed) {
        add(name_of(layout));
    }
    add_number("padding:", row_padding);
    if (in_place) {
        add("in-place");
    }
    if (pairing == Pairing::interleaved) {
        add(name_of(pairing));
    }
    add_number("rotary:", rotary() == head_dim ? 0 : rotary_dim);
    if (positions.type != PositionType::implicit) {
        std::string word = std::string("positions:") + name_of(positions.type);
        if (positions.order != PositionOrder::ordered) {
            word += std::string("-") + name_of(positions.order);
        }
        if (positions.order == PositionOrder::listed) {
            word += '-' + hexadecimal(positions.digest);
        }
        add(word);
    }
    add_number("context:", table_positions() == sequence ? 0 : context);
    if (table_dtype != DataType::f32) {
        add(std::string("tables:") + name_of(table_dtype));
    }
    if (gamma_dtype != DataType::f32) {
        add(std::string("gamma:") + name_of(gamma_dtype));
    }
    if (gemma) {
        add("gemma");
    }
    add_number("offset:", offset);
    if (values != Values::normal) {
        add(std::string("values:") + name_of(values));
    }
    return text;
}

std::string Problem::fault() const {
    if (rotary_dim < 0 || rotary() % 2 != 0 || rotary() > head_dim) {
        return "the rotary dim is " + std::to_string(rotary()) +
               ", and elements rotate in pairs: it must be even and at most the head_dim, " + std::to_string(head_dim);
    }
    for (const DataType type : {table_dtype, gamma_dtype}) {
        if (type != DataType::f32 && type != dtype) {
            return std::string("tables and gamma are in f32 or in the type of q, ") + name_of(dtype) + ", not in " +
                   name_of(type);
        }
    }
    const bool by_sequence = positions.order == PositionOrder::ordered;
    if (rows() > 0 && by_sequence && sequence > table_positions()) {
        return "the tables have " + std::to_string(table_positions()) + " positions (the context) and the sequence " +
               std::to_string(sequence);
    }
    if (positions.list == nullptr) {
        return {};
    }
    const std::vector<std::int64_t>& ids = *positions.list;
    if (static_cast<std::int64_t>(ids.size()) != tokens()) {
        return "there are " + std::to_string(ids.size()) + " position ids for " + std::to_string(tokens()) + " tokens";
    }
    for (std::size_t token = 0; token < ids.size(); ++token) {
        if (ids[token] < 0 || ids[token] >= table_positions()) {
            return "the position of token " + std::to_string(token) + " is " + std::to_string(ids[token]) +
                   ", and the tables have rows for 0 to " + std::to_string(table_positions() - 1) +
                   " (the context, or where none is given the sequence)";
        }
    }
    return {};
}

}  // namespace qkprof
