#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A parser with its buffers, used again for each document. Not thread-safe.
typedef struct sb_json sb_json;

/// A value in the document parsed last. Valid until the parser reads the next one.
typedef struct sb_node {
    uintptr_t words[2];
} sb_node;

/// Bytes in the parser's or the document's memory, valid as long as the node.
typedef struct sb_bytes {
    const char *start;
    size_t count;
} sb_bytes;

typedef enum sb_kind { sb_null, sb_bool, sb_number, sb_string, sb_array, sb_object } sb_kind;

/// Bytes behind a document that must be readable so that it need not be copied.
size_t sb_json_padding(void);

/// NULL when there is no memory.
sb_json *sb_json_make(void);
void sb_json_free(sb_json *json);

/// Reads one document. `capacity` tells how many bytes behind `start` may be read, whatever they are; where that is too
/// little, the document is copied. Half of a surrogate pair is read as U+FFFD, and an integer of more than 64 bits as a double.
/// False: no JSON, and `sb_json_fault` says why.
bool sb_json_parse(sb_json *json, const char *start, size_t count, size_t capacity, sb_node *root);
const char *sb_json_fault(const sb_json *json);
/// The same of a document that was too deep: a value behind 512 others is read as a string that holds its JSON.
bool sb_json_parse_folded(sb_json *json, const char *start, size_t count, sb_node *root);
/// Whether it nests deeper than the parser goes (1,024).
bool sb_json_was_too_deep(const sb_json *json);

sb_kind sb_node_kind(sb_node node);
/// The first member of this name. False: no object, or no such member.
bool sb_node_member(sb_node node, const char *name, size_t count, sb_node *member);
/// The name of a member, by its place, found by counting from the first one. False: no object, or it has fewer.
bool sb_node_name(sb_node node, size_t index, sb_bytes *name);
bool sb_node_string(sb_node node, sb_bytes *bytes);
bool sb_node_integer(sb_node node, int64_t *value);
bool sb_node_double(sb_node node, double *value);
bool sb_node_flag(sb_node node, bool *value);
size_t sb_node_count(sb_node node);

/// A place in an array. Valid as long as the array's node.
typedef struct sb_cursor {
    uintptr_t here[2];
    uintptr_t end[2];
} sb_cursor;

/// Puts the cursor before the first element. False: no array.
bool sb_array_begin(sb_node node, sb_cursor *cursor);
/// The next element, in constant time. False: there is none.
bool sb_array_next(sb_cursor *cursor, sb_node *element);

/// The value as compact JSON, in a buffer that the next call overwrites.
sb_bytes sb_node_compact(sb_json *json, sb_node node);

/// The library's version, as it was compiled with.
const char *sb_simdjson_version(void);

/// Whether the bytes are UTF-8 throughout.
bool sb_utf8_is_valid(const void *start, size_t count);

#ifdef __cplusplus
}
#endif
