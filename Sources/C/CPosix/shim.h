#pragma once
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

// What Swift's Glibc module leaves out.

/// Other processes of the same user may no longer read this one's memory and environment, where the relay's token is.
static inline void sb_process_hide(void) { prctl(PR_SET_DUMPABLE, 0); }

/// A descriptor that wakes a thread which polls it, or -1.
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
