// A table of text, and its forms: for a terminal, markdown, CSV and JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof {

enum class Style : std::uint8_t { plain, faint, good, bad };

struct Cell {
    std::string text;
    Style style = Style::plain;
};

struct Column {
    std::string title;
    bool right = false;  // aligned: numbers
};

// Rows that belong together, under a heading and with notes after them; both may be empty.
struct Section {
    std::string heading;
    std::vector<std::vector<Cell>> rows;  // each as long as the table has columns
    std::vector<std::string> notes;
};

struct Table {
    std::vector<Column> columns;
    std::vector<Section> sections;
    std::vector<std::string> notes;  // after the last section
};

// How many characters of a terminal it takes, for text whose characters are one cell wide each.
std::size_t width_of(std::string_view text);

// The text in lines of at most `width` characters, broken at blanks, and within a word that is longer than a line; all
// but the first indented. With width 0 one line.
std::vector<std::string> lines_of(const std::string& text, std::size_t width, std::size_t indent);

// For a terminal: columns as wide as their widest cell, headings, and colours if `colour`.
std::string to_text(const Table& table, bool colour);
std::string to_markdown(const Table& table);
// Rows alone, quoted as RFC 4180 says, lines ended as Unix does; the titles are the first line.
std::string to_csv(const Table& table);
// The rows alone as a list of objects, keyed by the titles.
std::string to_json(const Table& table);

// "table", "markdown", "csv" or "json".
enum class Format : std::uint8_t { table, markdown, csv, json };
// Throws InputError, with the nearest, for any other word.
Format parse_format(std::string_view word);

}  // namespace qkprof
