// One QK-Norm+RoPE problem: what is computed, where it lies in memory, and the bytes that follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace qkprof {

enum class DataType : std::uint8_t { f32, bf16, f16 };

constexpr int bytes_of(DataType dtype) { return dtype == DataType::f32 ? 4 : 2; }

constexpr const char* name_of(DataType dtype) {
    return dtype == DataType::f32 ? "f32" : dtype == DataType::bf16 ? "bf16" : "f16";
}

// separate: q[tokens, heads, head_dim] and k[tokens, key_heads, head_dim] are tensors of their own.
// packed: one tensor whose rows are a token's query, key and value heads, [tokens, heads + 2 * key_heads, head_dim];
// the value heads, as many as there are key heads, are neither read nor written.
enum class Layout : std::uint8_t { separate, packed };
constexpr const char* name_of(Layout layout) { return layout == Layout::separate ? "separate" : "packed"; }

// Which elements rotate together, for i < rotary_dim / 2. half_split ("NeoX"): i and i + rotary_dim / 2.
// interleaved ("GPT-J"): 2i and 2i + 1.
enum class Pairing : std::uint8_t { half_split, interleaved };
constexpr const char* name_of(Pairing pairing) { return pairing == Pairing::half_split ? "half-split" : "interleaved"; }

// implicit: token t stands at t % sequence, and nothing is read to know it; otherwise the type of a list of ids.
enum class PositionType : std::uint8_t { implicit, int32, int64 };
constexpr const char* name_of(PositionType type) {
    return type == PositionType::implicit ? "implicit" : type == PositionType::int32 ? "int32" : "int64";
}
constexpr int bytes_of(PositionType type) {
    return type == PositionType::implicit ? 0 : type == PositionType::int32 ? 4 : 8;
}

// What the ids say of token t in a table of C positions. ordered: t % sequence. reversed: C - 1 - t % C. scattered:
// each position once before any comes again, far from its neighbours. repeated: t / 4 % C, four tokens at each, as a
// tree of speculated tokens has them. listed: what somebody wrote down.
enum class PositionOrder : std::uint8_t { ordered, reversed, scattered, repeated, listed };
const char* name_of(PositionOrder order);

inline constexpr std::int64_t tokens_a_repeated_position = 4;

struct Positions {
    PositionType type = PositionType::implicit;
    PositionOrder order = PositionOrder::ordered;
    // Of a list: the ids (null in a problem that was read from a profile), how many differ, and a digest of them.
    std::shared_ptr<const std::vector<std::int64_t>> list = {};
    std::int64_t distinct = 0;
    std::uint32_t digest = 0;

    friend bool operator==(const Positions& a, const Positions& b) {
        return a.type == b.type && a.order == b.order && a.distinct == b.distinct && a.digest == b.digest;
    }
};
Positions listed_positions(PositionType type, std::vector<std::int64_t> ids);

// What q and k hold. normal: near to a normal distribution. largest: the largest finite numbers of the storage type, of
// either sign. smallest: its smallest subnormals. not_finite: as normal, but for an infinity in the first head vector
// of the second token and a NaN in the last head vector of the third.
enum class Values : std::uint8_t { normal, zeros, largest, smallest, not_finite };
const char* name_of(Values values);

// The operation, for each head vector x of q and of k:
//   y = x / sqrt(mean(x^2) + eps) * (gamma_offset + gamma), with a gamma of its own for q and for k;
//   the pairs (lo, hi) among the first rotary_dim elements of y become (lo cos - hi sin, hi cos + lo sin).
// cos and sin are tables [table_positions, rotary_dim / 2], of theta_i = rotary_base^(-2i / rotary_dim).
// A "row" is one head vector: row r is head r % all_heads of token r / all_heads, the query heads before the key heads.
struct Problem {
    std::int64_t batch = 1;
    std::int64_t sequence = 1;
    std::int64_t heads = 1;      // of the query
    std::int64_t key_heads = 0;  // 0: the query alone
    std::int64_t head_dim = 128;
    DataType dtype = DataType::f32;
    float eps = 1e-6F;
    double rotary_base = 10000.0;
    std::uint64_t seed = 1;
    // The tensors begin this many elements after a 256-byte boundary: 0 is what an allocator gives.
    std::int64_t offset = 0;
    Layout layout = Layout::separate;
    std::int64_t row_padding = 0;  // elements behind each token's heads in a tensor, neither read nor written
    bool in_place = false;         // the results take the place of q and k
    Pairing pairing = Pairing::half_split;
    std::int64_t rotary_dim = 0;  // 0: all of head_dim
    Positions positions = {};
    std::int64_t context = 0;              // positions of the tables; 0: as many as the sequence has
    DataType table_dtype = DataType::f32;  // f32 or dtype
    DataType gamma_dtype = DataType::f32;  // f32 or dtype
    bool gemma = false;                    // 1 + gamma instead of gamma
    Values values = Values::normal;

    std::int64_t tokens() const { return batch * sequence; }
    std::int64_t all_heads() const { return heads + key_heads; }
    std::int64_t rows() const { return tokens() * all_heads(); }
    std::int64_t elements() const { return rows() * head_dim; }
    std::int64_t element_bytes() const { return bytes_of(dtype); }
    // Of all head vectors once.
    std::int64_t tensor_bytes() const { return elements() * element_bytes(); }

    // Elements from a token's first query (key) head to the next token's.
    std::int64_t q_stride() const;
    std::int64_t k_stride() const;
    // Elements of memory that q's tensor takes, or the packed one; and k's: 0 where it has none of its own.
    std::int64_t q_extent() const { return tokens() * q_stride(); }
    std::int64_t k_extent() const { return layout == Layout::packed ? 0 : tokens() * k_stride(); }

    std::int64_t rotary() const { return rotary_dim == 0 ? head_dim : rotary_dim; }
    float gamma_offset() const { return gemma ? 1.0F : 0.0F; }
    // Of one gamma; there are two where there are key heads.
    std::int64_t gamma_bytes() const { return head_dim * bytes_of(gamma_dtype); }
    std::int64_t table_positions() const { return context == 0 ? sequence : context; }
    std::int64_t table_row_bytes() const { return rotary() / 2 * bytes_of(table_dtype); }
    // Of one table; there are two, cos and, right behind it, sin.
    std::int64_t table_bytes() const { return table_positions() * table_row_bytes(); }
    std::int64_t position_bytes() const { return tokens() * bytes_of(positions.type); }

    // Where a token stands. Unspecified for a list that is not there.
    std::int64_t position_of(std::int64_t token) const;
    // How many positions the tokens stand at.
    std::int64_t distinct_positions() const;

    // The floor of the operation: every head vector read once and written once; gamma, the rows of both tables that the
    // tokens need, and the ids read once. An empty problem moves nothing.
    std::int64_t compulsory_bytes() const;

    // What stays resident when the call is repeated on the same buffers.
    std::int64_t working_set_bytes() const { return compulsory_bytes() - (in_place ? tensor_bytes() : 0); }

    // The largest power of two, at most 256, that divides the byte address of each tensor; of each token's heads in it.
    std::int64_t alignment() const;
    std::int64_t row_alignment() const;

    // Whether it is the operation in its first form: q alone, without gaps, all of it rotated in halves, by position in
    // the sequence, gamma and tables in f32. The kernels of this form carry nothing of the others. In place or not.
    bool is_plain() const;

    // "1x64x32+8x128", and what differs from the standard behind it, each word after `separator`: "/packed/in-place".
    std::string shape_text() const;
    std::string text(char separator) const;

    // Why this is no problem, as a clause; empty if it is one. Extents that overflow are not found here.
    std::string fault() const;

    friend bool operator==(const Problem&, const Problem&) = default;
};

// Rows are counted in 32 bits inside the kernels (a 64-bit division a row costs more than the row); offsets of
// elements are 64 bits wide everywhere.
inline constexpr std::int64_t max_rows = 2147483647;

}  // namespace qkprof
