// What the variants share: what a kernel is passed, where a head vector lies and what rotates it, the arithmetic, the
// choice of the compiled kernel, and the reasons to refuse.
#pragma once

#include "requested.h"
#include "vocabulary.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <limits>
#include <type_traits>

namespace qkprof::inline QK_BUILD {

// What the compiler knows of the operation. plain: Problem::is_plain(), so that the first form costs nothing for what
// it does not use. The others do all that a Problem can ask for, as the arguments say, in one of the two pairings.
enum class Form : std::uint8_t { plain, half_split, interleaved };

inline Form form_of(const Problem& problem) {
    return problem.is_plain()                       ? Form::plain
           : problem.pairing == Pairing::half_split ? Form::half_split
                                                    : Form::interleaved;
}

// Divides any number below half of what Index holds: i / divisor is the high half of 2i * multiplier, shifted.
template <class Index>
struct Reciprocal {
    using Wide = std::conditional_t<sizeof(Index) == 4, std::uint64_t, unsigned __int128>;
    static constexpr unsigned digits = std::numeric_limits<Index>::digits;

    explicit Reciprocal(std::int64_t divisor)
        : shift(static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(divisor) - 1))),
          multiplier(static_cast<Index>((Wide{1} << (digits - 1 + shift)) / static_cast<Wide>(divisor) + 1)) {}

    QK_DEVICE Index quotient(Index i) const {
        return static_cast<Index>(Wide{static_cast<Index>(i + i)} * multiplier >> digits) >> shift;
    }

    unsigned shift;
    Index multiplier;
};

// What every kernel is passed: Buffers, and what a kernel needs of Problem. Row r is one head vector.
struct Arguments {
    // What the first form needs comes first: constants are fetched by lines, too.
    const void* q;
    void* q_out;
    const void* gamma_q;
    const void* cos;
    const void* sin;
    float eps;
    unsigned rows;
    unsigned heads;  // of a token: query heads, then key heads
    unsigned sequence;
    // The plain form divides by itself: it came before the reciprocals, and its figures are recorded.
    Reciprocal<unsigned> by_sequence;
    Reciprocal<unsigned> by_heads;
    const void* k;
    void* k_out;
    const void* gamma_k;
    const void* positions;
    void* scratch;
    std::int64_t q_stride;
    std::int64_t k_stride;
    unsigned query_heads;
    unsigned head_dim;  // for kernels that are not compiled for one
    unsigned rotary_dim;
    float gamma_offset;
    bool narrow_tables;  // in the storage type, where that has 16 bits
    bool narrow_gamma;
    std::uint8_t position_bytes;  // of an id; 0: positions are implicit
};

inline Arguments arguments_of(const Call& call) {
    const Problem& problem = call.request.problem;
    const Buffers& buffers = call.buffers;
    return {.q = buffers.q,
            .q_out = buffers.q_out,
            .gamma_q = buffers.gamma_q,
            .cos = buffers.cos,
            .sin = buffers.sin,
            .eps = problem.eps,
            .rows = static_cast<unsigned>(problem.rows()),
            .heads = static_cast<unsigned>(problem.all_heads()),
            .sequence = static_cast<unsigned>(problem.sequence),
            .by_sequence = Reciprocal<unsigned>(std::max<std::int64_t>(1, problem.sequence)),
            .by_heads = Reciprocal<unsigned>(std::max<std::int64_t>(1, problem.all_heads())),
            .k = buffers.k,
            .k_out = buffers.k_out,
            .gamma_k = buffers.gamma_k,
            .positions = buffers.positions,
            .scratch = buffers.scratch,
            .q_stride = problem.q_stride(),
            .k_stride = problem.k_stride(),
            .query_heads = static_cast<unsigned>(problem.heads),
            .head_dim = static_cast<unsigned>(problem.head_dim),
            .rotary_dim = static_cast<unsigned>(problem.rotary()),
            .gamma_offset = problem.gamma_offset(),
            .narrow_tables = bytes_of(problem.table_dtype) < 4,
            .narrow_gamma = bytes_of(problem.gamma_dtype) < 4,
            .position_bytes = static_cast<std::uint8_t>(bytes_of(problem.positions.type))};
}

// Which head of its token a row is.
QK_DEVICE unsigned head_of(const Arguments& a, unsigned row) { return row - a.by_heads.quotient(row) * a.heads; }

QK_DEVICE bool is_key(const Arguments& a, unsigned row) { return head_of(a, row) >= a.query_heads; }

// The offset of element `column` of row `row` in its tensor, which is k's for the key heads: 64 bits wide.
template <Form F>
QK_DEVICE std::size_t offset_of(const Arguments& a, unsigned row, unsigned head_dim, unsigned column) {
    if constexpr (F == Form::plain) {
        return static_cast<std::size_t>(row) * head_dim + column;
    } else {
        const unsigned token = a.by_heads.quotient(row);
        const unsigned head = head_of(a, row);
        const bool key = head >= a.query_heads;
        const unsigned within = (key ? head - a.query_heads : head) * head_dim + column;
        return static_cast<std::size_t>(token) * static_cast<std::size_t>(key ? a.k_stride : a.q_stride) + within;
    }
}

// The address of element `column` of row `row`, before and after.
template <class T, Form F = Form::plain>
QK_DEVICE const T* q_at(const Arguments& a, unsigned row, unsigned head_dim, unsigned column) {
    const void* tensor = F != Form::plain && is_key(a, row) ? a.k : a.q;
    return static_cast<const T*>(tensor) + offset_of<F>(a, row, head_dim, column);
}
template <class T, Form F = Form::plain>
QK_DEVICE T* out_at(const Arguments& a, unsigned row, unsigned head_dim, unsigned column) {
    void* tensor = F != Form::plain && is_key(a, row) ? a.k_out : a.q_out;
    return static_cast<T*>(tensor) + offset_of<F>(a, row, head_dim, column);
}

// The gamma of a row.
template <Form F = Form::plain>
QK_DEVICE const void* gamma_of(const Arguments& a, unsigned row) {
    return F != Form::plain && is_key(a, row) ? a.gamma_k : a.gamma_q;
}

// Where a token stands.
template <Form F>
QK_DEVICE unsigned position_of_token(const Arguments& a, unsigned token) {
    if (F != Form::plain && a.position_bytes == 4) {
        return load<Cache::read_only>(static_cast<const unsigned*>(a.positions) + token);
    }
    if (F != Form::plain && a.position_bytes == 8) {
        return load<Cache::read_only>(static_cast<const Vector<unsigned, 2>*>(a.positions) + token).values[0];
    }
    return token - a.by_sequence.quotient(token) * a.sequence;
}

// Where a row's token stands.
template <Form F = Form::plain>
QK_DEVICE unsigned position_of(const Arguments& a, unsigned row) {
    if constexpr (F == Form::plain) {
        return row / a.heads % a.sequence;
    } else {
        return position_of_token<F>(a, a.by_heads.quotient(row));
    }
}

// `N` neighbouring numbers, from number `first` of a gamma or of a table, in accesses of at most 16 bytes. They are in
// f32, or in T where `narrow` says so.
template <class T, int N, Cache Hint>
QK_DEVICE void load_numbers(const void* numbers, bool narrow, std::size_t first, float* values QK_CALLER) {
    if constexpr (sizeof(T) < sizeof(float)) {
        if (narrow) {
            const T* from = static_cast<const T*>(numbers) + first;
            unpack(load<Hint>(reinterpret_cast<const Vector<T, N>*>(from) QK_FROM_CALLER), values);
            return;
        }
    }
    constexpr int piece = std::min(N, 4);
    for (int i = 0; i < N; i += piece) {
        const float* from = static_cast<const float*>(numbers) + first + i;
        unpack(load<Hint>(reinterpret_cast<const Vector<float, piece>*>(from) QK_FROM_CALLER), values + i);
    }
}

// 1 / rms of a head vector: rsqrt(sum(x^2) / head_dim + eps).
QK_DEVICE float inverse_rms(float sum_of_squares, int head_dim, float eps) {
    return reciprocal_square_root(sum_of_squares / static_cast<float>(head_dim) + eps);
}

// The rotation of one pair, in place.
QK_DEVICE void rotate(float& lo, float& hi, float cosine, float sine) {
    const float rotated = lo * cosine - hi * sine;
    hi = hi * cosine + lo * sine;
    lo = rotated;
}

// A storage type and a head dim that are known to the compiler, handed to the callable of the functions below.
template <class T, int D>
struct Compiled {
    using type = T;
    static constexpr int head_dim = D;
};

// Calls f(Compiled<T, D>{}) for the problem's type and head dim; the head dim must be one of compiled_head_dims.
inline constexpr int compiled_head_dims[] = {64, 96, 128, 256};

template <class T, class F>
void for_head_dim(std::int64_t head_dim, F f) {
    switch (head_dim) {
        case 64:
            return f(Compiled<T, 64>{});
        case 96:
            return f(Compiled<T, 96>{});
        case 128:
            return f(Compiled<T, 128>{});
        case 256:
            return f(Compiled<T, 256>{});
        default:
            throw LaunchError("No kernel is compiled for head_dim " + std::to_string(head_dim) + ".");
    }
}

template <class F>
void for_compiled(const Problem& problem, F f) {
    switch (problem.dtype) {
        case DataType::f32:
            return for_head_dim<float>(problem.head_dim, f);
        case DataType::bf16:
            return for_head_dim<bf16>(problem.head_dim, f);
        case DataType::f16:
            return for_head_dim<f16>(problem.head_dim, f);
    }
}

// Calls f(std::integral_constant<int, V>{}) for the one of Values that equals `value`.
template <int... Values, class F>
void for_value(int value, F f) {
    if (!((value == Values && (f(std::integral_constant<int, Values>{}), true)) || ...)) {
        throw LaunchError("No kernel is compiled for the value " + std::to_string(value) + " of a parameter.");
    }
}

// Calls f(std::integral_constant<Form, F>{}) for the problem's form.
template <class F>
void for_form(const Problem& problem, F f) {
    switch (form_of(problem)) {
        case Form::plain:
            return f(std::integral_constant<Form, Form::plain>{});
        case Form::half_split:
            return f(std::integral_constant<Form, Form::half_split>{});
        case Form::interleaved:
            return f(std::integral_constant<Form, Form::interleaved>{});
    }
}

// Calls f(T{}) for the problem's storage type: for kernels that take the head dim at run time.
template <class F>
void for_type(DataType dtype, F f) {
    switch (dtype) {
        case DataType::f32:
            return f(float{});
        case DataType::bf16:
            return f(bf16{});
        case DataType::f16:
            return f(f16{});
    }
}

// Reasons to refuse, empty where there is none. first_reason gives the first that is not empty.
inline std::string refuse_head_dim(const Problem& problem) {
    const auto* end = std::end(compiled_head_dims);
    if (std::find(std::begin(compiled_head_dims), end, problem.head_dim) != end) {
        return {};
    }
    return "head_dim " + std::to_string(problem.head_dim) + " is not one of 64, 96, 128, 256, for which it is compiled";
}

inline std::string refuse_alignment(const Problem& problem, std::int64_t bytes) {
    if (problem.row_alignment() >= bytes) {
        return {};
    }
    return "the heads are aligned to " + std::to_string(problem.row_alignment()) + " bytes and it needs " +
           std::to_string(bytes);
}

inline std::string refuse_shared_bytes(const Request& request, std::int64_t bytes) {
    if (bytes <= request.limits.shared_bytes_per_block) {
        return {};
    }
    return "it needs " + std::to_string(bytes) + " bytes of shared memory a block and the device gives " +
           std::to_string(request.limits.shared_bytes_per_block);
}

inline std::string first_reason(std::initializer_list<std::string> reasons) {
    for (const std::string& reason : reasons) {
        if (!reason.empty()) {
            return reason;
        }
    }
    return {};
}

}  // namespace qkprof::inline QK_BUILD
