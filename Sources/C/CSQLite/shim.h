#pragma once
#include <sqlite3.h>

// The casts behind SQLITE_TRANSIENT, which Swift does not import. SQLite copies the bytes during the call, so that it holds no
// memory of Swift afterwards; the copy costs little beside the disk write.

static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 count) {
  return sqlite3_bind_text64(statement, index, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// Keeps an empty blob a blob: SQLite binds NULL for a null pointer.
static inline int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
  if (count == 0) return sqlite3_bind_zeroblob(statement, index, 0);
  return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}
