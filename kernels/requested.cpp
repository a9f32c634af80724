#include "requested.h"

#include <algorithm>
#include <numeric>

namespace qkprof {
namespace {

// The sectors of one access.
class Sectors {
  public:
    void add(std::int64_t begin, std::int64_t bytes) {
        for (std::int64_t s = begin / bytes_of_sector; s * bytes_of_sector < begin + bytes; ++s) {
            numbers_.push_back(s);
        }
    }
    std::int64_t bytes() {
        std::sort(numbers_.begin(), numbers_.end());
        const auto end = std::unique(numbers_.begin(), numbers_.end());
        return (end - numbers_.begin()) * bytes_of_sector;
    }

  private:
    std::vector<std::int64_t> numbers_;
};

// Adds to `counts` where the heads of one tensor begin. Everything repeats after 16 tokens and after 16 heads: an
// element has at least 2 bytes.
void count_begins(const Problem& p, std::int64_t first, std::int64_t stride, std::int64_t heads,
                  std::array<std::int64_t, bytes_of_sector>& counts) {
    constexpr std::int64_t period = 16;
    const auto alike = [](std::int64_t count, std::int64_t i) { return divide_up(count - i, period); };
    for (std::int64_t token = 0; token < std::min(p.tokens(), period); ++token) {
        for (std::int64_t head = 0; head < std::min(heads, period); ++head) {
            const std::int64_t begin = (first + token * stride + head * p.head_dim) * p.element_bytes();
            counts.at(static_cast<std::size_t>(begin % bytes_of_sector)) +=
                alike(p.tokens(), token) * alike(heads, head);
        }
    }
}

// Rows until the next one of another token or of the other of q and k.
std::int64_t rows_alike(const Problem& p, std::int64_t row) {
    const std::int64_t head = row % p.all_heads();
    return (head < p.heads ? p.heads : p.all_heads()) - head;
}

// The distinct positions of tokens `first` to `last`.
std::vector<std::int64_t> positions_of(const Problem& p, std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> positions;
    for (std::int64_t token = first; token <= last; ++token) {
        positions.push_back(p.position_of(token));
    }
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    return positions;
}

// How many they are. But for a list, no position comes again before each has been there.
std::int64_t count_positions(const Problem& p, std::int64_t first, std::int64_t last) {
    switch (p.positions.order) {
        case PositionOrder::ordered:
            return std::min(last - first + 1, p.sequence);
        case PositionOrder::repeated:
            return std::min(last / tokens_a_repeated_position - first / tokens_a_repeated_position + 1,
                            p.table_positions());
        case PositionOrder::listed:
            return static_cast<std::int64_t>(positions_of(p, first, last).size());
        default:
            return std::min(last - first + 1, p.table_positions());
    }
}

bool table_rows_are_whole_sectors(const Problem& p) { return p.table_row_bytes() % bytes_of_sector == 0; }

// Tokens that share a sector of the ids.
std::int64_t tokens_a_sector(const Problem& p) {
    return p.positions.type == PositionType::implicit ? 1 : bytes_of_sector / bytes_of(p.positions.type);
}

// Tokens over which positions go on evenly, so that it repeats itself how their rows lie in sectors; then they begin
// anew. 0: nowhere.
std::int64_t even_tokens(const Problem& p) {
    switch (p.positions.order) {
        case PositionOrder::listed:
            return 0;
        case PositionOrder::ordered:
            return table_rows_are_whole_sectors(p) ? p.tokens() : p.sequence;
        case PositionOrder::reversed:
            return table_rows_are_whole_sectors(p) ? p.tokens() : p.table_positions();
        case PositionOrder::repeated:
            return table_rows_are_whole_sectors(p) ? p.tokens() : p.table_positions() * tokens_a_repeated_position;
        case PositionOrder::scattered:
            break;
    }
    return table_rows_are_whole_sectors(p) ? p.tokens() : 0;
}

// Tokens after which it repeats itself.
std::int64_t period_tokens(const Problem& p) {
    const std::int64_t positions = bytes_of_sector / std::gcd(bytes_of_sector, p.table_row_bytes());
    const bool repeated = p.positions.order == PositionOrder::repeated;
    return std::max(tokens_a_sector(p), positions * (repeated ? tokens_a_repeated_position : 1));  // powers of two
}

}  // namespace

std::int64_t requested_bytes(std::span<const Instruction> instructions, std::int64_t begin,
                             std::int64_t element_bytes) {
    std::int64_t bytes = 0;
    for (const Instruction& instruction : instructions) {
        Sectors sectors;
        for (const Elements& elements : instruction) {
            sectors.add(begin + elements.first * element_bytes, elements.count * element_bytes);
        }
        bytes += sectors.bytes();
    }
    return bytes;
}

std::array<std::int64_t, bytes_of_sector> rows_by_begin(const Problem& p) {
    std::array<std::int64_t, bytes_of_sector> counts = {};
    const std::int64_t first_key = p.layout == Layout::packed ? p.heads * p.head_dim : 0;
    count_begins(p, p.offset, p.q_stride(), p.heads, counts);
    count_begins(p, p.offset + first_key, p.k_stride(), p.key_heads, counts);
    return counts;
}

std::int64_t tensor_bytes_requested(const Problem& problem, std::span<const Instruction> instructions) {
    const auto counts = rows_by_begin(problem);
    std::int64_t bytes = 0;
    for (std::size_t begin = 0; begin < counts.size(); ++begin) {
        if (counts[begin] > 0) {
            bytes += counts[begin] *
                     requested_bytes(instructions, static_cast<std::int64_t>(begin), problem.element_bytes());
        }
    }
    return bytes;
}

void for_each_access(const Problem& p, std::int64_t rows_per_access, const std::function<void(const Access&)>& f) {
    if (p.rows() == 0) {
        return;
    }
    const auto one_by_one = [&](std::int64_t begin, std::int64_t end, std::int64_t repeats) {
        for (std::int64_t row = begin; row < end;) {
            const std::int64_t times = rows_alike(p, row) / rows_per_access;
            const std::int64_t count = std::min(rows_per_access, end - row);
            f({row, count, std::max<std::int64_t>(times, 1) * repeats});
            row += times > 0 ? times * rows_per_access : count;
        }
    };
    const std::int64_t period = std::lcm(period_tokens(p) * p.all_heads(), rows_per_access);
    const auto evenly = [&](std::int64_t begin, std::int64_t end, std::int64_t repeats) {
        const std::int64_t periods = (end - begin) / period;
        one_by_one(begin, periods > 0 ? begin + period : begin, periods * repeats);
        one_by_one(begin + periods * period, end, repeats);
    };
    const std::int64_t tokens = even_tokens(p);
    const std::int64_t rows = tokens * p.all_heads();
    if (p.tokens() <= tokens) {
        evenly(0, p.rows(), 1);
    } else if (tokens > 0 && rows % rows_per_access == 0 && tokens % tokens_a_sector(p) == 0) {
        evenly(0, rows, p.rows() / rows);
        evenly(p.rows() / rows * rows, p.rows(), 1);
    } else {
        one_by_one(0, p.rows(), 1);
    }
}

std::int64_t gammas_of(const Problem& p, const Access& access) {
    const std::int64_t first = access.first % p.all_heads();
    const std::int64_t last = first + access.rows - 1;
    const bool q = first < p.heads || (last >= p.all_heads() && p.heads > 0);
    const bool k = p.key_heads > 0 && last >= p.heads;
    return (q ? 1 : 0) + (k ? 1 : 0);
}

bool of_one_token(const Problem& p, const Access& access) {
    return access.first / p.all_heads() == (access.first + access.rows - 1) / p.all_heads();
}

TableRequests::TableRequests(const Problem& problem, std::vector<Instruction> instructions)
    : problem_(problem),
      instructions_(std::move(instructions)),
      whole_sectors_(table_rows_are_whole_sectors(problem)) {}

std::int64_t TableRequests::bytes_of(std::span<const std::int64_t> positions) const {
    const std::int64_t entry_bytes = qkprof::bytes_of(problem_.table_dtype);
    std::int64_t bytes = 0;
    for (const std::int64_t table : {std::int64_t{0}, problem_.table_bytes()}) {
        for (const Instruction& instruction : instructions_) {
            Sectors sectors;
            for (const std::int64_t position : positions) {
                for (const Elements& entries : instruction) {
                    sectors.add(table + position * problem_.table_row_bytes() + entries.first * entry_bytes,
                                entries.count * entry_bytes);
                }
            }
            bytes += sectors.bytes();
        }
    }
    return bytes;
}

std::int64_t TableRequests::position_bytes(std::int64_t position) {
    const std::int64_t begin = position * problem_.table_row_bytes() % bytes_of_sector;
    std::int64_t& known = known_.at(static_cast<std::size_t>(begin));
    if (known == 0) {
        known = bytes_of({&position, 1});
    }
    return known;
}

std::int64_t TableRequests::bytes(const Access& access) {
    const std::int64_t first = access.first / problem_.all_heads();
    const std::int64_t last = (access.first + access.rows - 1) / problem_.all_heads();
    const std::int64_t id_bytes = qkprof::bytes_of(problem_.positions.type);
    const std::int64_t ids = id_bytes == 0 ? 0 : sector_bytes(first * id_bytes, (last - first + 1) * id_bytes);
    if (whole_sectors_) {
        return ids + count_positions(problem_, first, last) * position_bytes(0);
    }
    return ids + (first == last ? position_bytes(problem_.position_of(first))
                                : bytes_of(positions_of(problem_, first, last)));
}

std::int64_t TableRequests::bytes(std::int64_t rows_per_access) {
    std::int64_t sum = 0;
    for_each_access(problem_, rows_per_access, [&](const Access& access) { sum += access.times * bytes(access); });
    return sum;
}

std::int64_t gamma_bytes_requested(const Problem& problem, std::span<const Instruction> instructions,
                                   std::int64_t rows_per_access) {
    const std::int64_t one = requested_bytes(instructions, 0, bytes_of(problem.gamma_dtype));
    std::int64_t sum = 0;
    for_each_access(problem, rows_per_access,
                    [&](const Access& access) { sum += access.times * gammas_of(problem, access) * one; });
    return sum;
}

std::int64_t positions_touched(const Problem& problem, std::int64_t rows_per_access) {
    const std::int64_t heads = problem.all_heads();
    std::int64_t sum = 0;
    for_each_access(problem, rows_per_access, [&](const Access& access) {
        const std::int64_t last = access.first + access.rows - 1;
        sum += access.times * count_positions(problem, access.first / heads, last / heads);
    });
    return sum;
}

}  // namespace qkprof
