#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A parser with its buffers, reused for each document. Not thread-safe.
typedef struct sb_json sb_json;

/// A value in the last parsed document. Valid until the parser parses the next one.
typedef struct sb_node {
    uintptr_t words[2];
} sb_node;

/// Bytes in the parser's or the document's memory, valid as long as the node.
typedef struct sb_bytes {
    const char *start;
    size_t count;
} sb_bytes;

typedef enum sb_kind { sb_null, sb_bool, sb_number, sb_string, sb_array, sb_object } sb_kind;

/// Bytes behind a document that must be readable to parse it without a copy.
size_t sb_json_padding(void);

/// NULL if there is no memory.
sb_json *sb_json_make(void);
void sb_json_free(sb_json *json);

/// Parses one document. `capacity` is the number of readable bytes from `start` on, whatever they are; if there are too few
/// behind the document, it is copied. Half of a surrogate pair is read as U+FFFD, and an integer of more than 64 bits as a
/// double. False if the document is no JSON; `sb_json_fault` has the reason.
bool sb_json_parse(sb_json *json, const char *start, size_t count, size_t capacity, sb_node *root);
const char *sb_json_fault(const sb_json *json);
/// The same for a document that was too deep: a value behind 512 others is read as a string that holds its JSON.
bool sb_json_parse_folded(sb_json *json, const char *start, size_t count, sb_node *root);
/// Whether the document nests deeper than the parser's limit (1,024).
bool sb_json_was_too_deep(const sb_json *json);

sb_kind sb_node_kind(sb_node node);
/// The first member of this name. False if the node is no object, or has no such member.
bool sb_node_member(sb_node node, const char *name, size_t count, sb_node *member);
/// The name of a member by its index, found by counting from the first. False if the node is no object, or has fewer members.
bool sb_node_name(sb_node node, size_t index, sb_bytes *name);
bool sb_node_string(sb_node node, sb_bytes *bytes);
bool sb_node_integer(sb_node node, int64_t *value);
bool sb_node_double(sb_node node, double *value);
bool sb_node_flag(sb_node node, bool *value);
size_t sb_node_count(sb_node node);

/// A position in an array. Valid as long as the array's node.
typedef struct sb_cursor {
    uintptr_t here[2];
    uintptr_t end[2];
} sb_cursor;

/// Puts the cursor before the first element. False if the node is no array.
bool sb_array_begin(sb_node node, sb_cursor *cursor);
/// The next element, in constant time. False if there is none.
bool sb_array_next(sb_cursor *cursor, sb_node *element);

/// The value as compact JSON, in a buffer that the next call overwrites.
sb_bytes sb_node_compact(sb_json *json, sb_node node);

/// The library's version at compile time.
const char *sb_simdjson_version(void);

/// Whether all bytes are valid UTF-8.
bool sb_utf8_is_valid(const void *start, size_t count);

#ifdef __cplusplus
}
#endif
