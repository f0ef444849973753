#pragma once
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/// Columns and lines of a terminal, or 0 if unknown.
static inline void sb_terminal_size(int descriptor, int *columns, int *lines) {
  struct winsize size = {0};
  ioctl(descriptor, TIOCGWINSZ, &size);
  *columns = size.ws_col;
  *lines = size.ws_row;
}

/// Reads keys one by one without echo; Ctrl-C stays a signal, Ctrl-Z and Ctrl-\\ do nothing. 0, or -1 with errno.
static inline int sb_terminal_take(int descriptor, struct termios *before) {
  if (tcgetattr(descriptor, before) != 0) return -1;
  struct termios now = *before;
  now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  now.c_cc[VMIN] = 0;
  now.c_cc[VTIME] = 0;
  now.c_cc[VSUSP] = _POSIX_VDISABLE;
  now.c_cc[VQUIT] = _POSIX_VDISABLE;
  return tcsetattr(descriptor, TCSAFLUSH, &now);
}

static inline void sb_terminal_give_back(int descriptor, const struct termios *before) {
  tcsetattr(descriptor, TCSAFLUSH, before);
}
