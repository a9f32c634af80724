#include "table.h"

#include "error.h"
#include "names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace qkprof {
namespace {

// Bytes that continue a character of UTF-8 take no room.
bool takes_room(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }

// The first characters of `text`, taken from it.
std::string take_front(std::string& text, std::size_t characters) {
    std::size_t end = 0;
    for (; end < text.size() && (characters > 0 || !takes_room(text[end])); ++end) {
        characters -= takes_room(text[end]) ? 1 : 0;
    }
    std::string front = text.substr(0, end);
    text.erase(0, end);
    return front;
}

const char* escape_of(Style style) {
    constexpr std::array escapes = {"", "\x1b[2m", "\x1b[32m", "\x1b[31m"};
    return escapes.at(static_cast<std::size_t>(style));
}
constexpr const char* bold = "\x1b[1m";
constexpr const char* reset = "\x1b[0m";
constexpr std::size_t widest = 120;  // line of a heading

std::vector<std::size_t> widths_of(const Table& table) {
    std::vector<std::size_t> widths;
    for (const Column& column : table.columns) {
        widths.push_back(width_of(column.title));
    }
    for (const Section& section : table.sections) {
        for (const auto& row : section.rows) {
            for (std::size_t i = 0; i < widths.size(); ++i) {
                widths[i] = std::max(widths[i], width_of(row.at(i).text));
            }
        }
    }
    return widths;
}

void append_text_row(std::string& text, const Table& table, const std::vector<std::size_t>& widths,
                     const std::vector<Cell>& row, bool colour) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
        const Cell& cell = row.at(i);
        const std::string padding(widths[i] - width_of(cell.text), ' ');
        const bool styled = colour && cell.style != Style::plain;
        text += i == 0 ? "" : "  ";
        text += table.columns[i].right ? padding : "";
        text += styled ? escape_of(cell.style) : "";
        text += cell.text;
        text += styled ? reset : "";
        text += table.columns[i].right || i + 1 == widths.size() ? "" : padding;
    }
    text.erase(text.find_last_not_of(' ') + 1);  // of empty cells at the end
    text += '\n';
}

std::vector<Cell> titles_of(const Table& table) {
    std::vector<Cell> titles;
    for (const Column& column : table.columns) {
        titles.push_back({column.title, Style::faint});
    }
    return titles;
}

std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) {
        return text;
    }
    std::string quoted = "\"";
    for (const char c : text) {
        quoted += c == '"' ? "\"\"" : std::string(1, c);
    }
    return quoted + "\"";
}

// A bar ends a markdown cell.
std::string markdown_field(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        escaped += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
    }
    return escaped;
}

}  // namespace

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), takes_room));
}

std::vector<std::string> lines_of(const std::string& text, std::size_t width, std::size_t indent) {
    std::vector<std::string> lines(1);
    std::size_t column = 0;
    const auto next_line = [&] {
        lines.emplace_back(indent, ' ');
        column = indent;
    };
    bool first_of_line = true;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        std::string word = text.substr(at, end - at);
        at = end + 1;
        if (!first_of_line && width > 0 && column + 1 + width_of(word) > width) {
            next_line();
        } else if (!first_of_line) {
            lines.back() += ' ';
            ++column;
        }
        while (width > indent && column + width_of(word) > width) {
            lines.back() += take_front(word, width - column);
            next_line();
        }
        lines.back() += word;
        column += width_of(word);
        first_of_line = false;
    }
    return lines;
}

std::string to_text(const Table& table, bool colour) {
    const std::vector<std::size_t> widths = widths_of(table);
    std::string text;
    for (const Section& section : table.sections) {
        text += text.empty() ? "" : "\n";
        if (!section.heading.empty()) {
            const std::string heading = fmt::format("{}", fmt::join(lines_of(section.heading, widest, 2), "\n"));
            text += colour ? fmt::format("{}{}{}\n", bold, heading, reset) : heading + "\n";
        }
        if (!section.rows.empty()) {
            append_text_row(text, table, widths, titles_of(table), colour);
        }
        for (const auto& row : section.rows) {
            append_text_row(text, table, widths, row, colour);
        }
        for (const std::string& note : section.notes) {
            text += note + "\n";
        }
    }
    text += table.notes.empty() ? "" : "\n";
    for (const std::string& note : table.notes) {
        text += note + "\n";
    }
    return text;
}

std::string to_markdown(const Table& table) {
    std::string text;
    for (const Section& section : table.sections) {
        text += text.empty() ? "" : "\n";
        text += section.heading.empty() ? "" : "**" + section.heading + "**\n\n";
        if (!section.rows.empty()) {
            for (const Column& column : table.columns) {
                text += "| " + markdown_field(column.title) + " ";
            }
            text += "|\n";
            for (const Column& column : table.columns) {
                text += column.right ? "|--:" : "|---";
            }
            text += "|\n";
        }
        for (const auto& row : section.rows) {
            for (const Cell& cell : row) {
                text += "| " + markdown_field(cell.text) + " ";
            }
            text += "|\n";
        }
        text += section.notes.empty() || section.rows.empty() ? "" : "\n";
        for (const std::string& note : section.notes) {
            text += "- " + note + "\n";
        }
    }
    text += table.notes.empty() ? "" : "\n";
    for (const std::string& note : table.notes) {
        text += "- " + note + "\n";
    }
    return text;
}

std::string to_csv(const Table& table) {
    std::string text;
    const auto append = [&](std::size_t i, const std::string& field) {
        text += i == 0 ? "" : ",";
        text += csv_field(field);
        text += i + 1 == table.columns.size() ? "\n" : "";
    };
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        append(i, table.columns[i].title);
    }
    for (const Section& section : table.sections) {
        for (const auto& row : section.rows) {
            for (std::size_t i = 0; i < row.size(); ++i) {
                append(i, row[i].text);
            }
        }
    }
    return text;
}

std::string to_json(const Table& table) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Section& section : table.sections) {
        for (const auto& row : section.rows) {
            nlohmann::ordered_json object;
            for (std::size_t i = 0; i < row.size(); ++i) {
                object[table.columns.at(i).title] = row[i].text;
            }
            list.push_back(std::move(object));
        }
    }
    return list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Format parse_format(std::string_view word) {
    static const std::vector<std::string> words = {"table", "markdown", "csv", "json"};
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end()) {
        throw InputError(fmt::format("There is no format '{}'.{}", word, suggestion(word, words)));
    }
    return static_cast<Format>(found - words.begin());
}

}  // namespace qkprof
