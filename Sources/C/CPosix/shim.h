#pragma once
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <unistd.h>

// Functions missing from Swift's Glibc module.

/// Keeps other processes of the same user from reading this one's memory and environment, which contain the relay's token.
static inline void sb_process_hide(void) { prctl(PR_SET_DUMPABLE, 0); }

/// The type of a path's file system (statfs(2), `f_type`): 0, or -1 with errno.
static inline int sb_file_system(const char *path, uint32_t *kind) {
  struct statfs status;
  int code = statfs(path, &status);
  if (code == 0) *kind = (uint32_t)status.f_type;
  return code;
}

/// A descriptor that wakes a polling thread, or -1.
static inline int sb_eventfd_make(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline void sb_eventfd_raise(int descriptor) {
  uint64_t one = 1;
  ssize_t ignored = write(descriptor, &one, sizeof one);
  (void)ignored;
}

static inline void sb_eventfd_clear(int descriptor) {
  uint64_t count;
  ssize_t ignored = read(descriptor, &count, sizeof count);
  (void)ignored;
}
