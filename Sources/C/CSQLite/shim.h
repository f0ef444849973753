#pragma once
#include <sqlite3.h>

// What Swift does not import: the casts behind SQLITE_TRANSIENT. SQLite copies the bytes during the call, so that nothing
// of Swift's memory is held past it; beside the write to the disk the copy does not show.

static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 count) {
  return sqlite3_bind_text64(statement, index, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// An empty blob stays a blob: with no address, SQLite would bind NULL.
static inline int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  if (count == 0) return sqlite3_bind_zeroblob(statement, index, 0);
  return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}
