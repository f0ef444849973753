#pragma once
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/// Arguments of a fork. The caller allocates all memory before it: between fork and exec only async-signal-safe functions may
/// be called, because other threads may have held any lock.
struct sb_child {
  const char *path;
  char *const *arguments;
  char *const *environment;
  const char *folder;
  int input, output, errors;
  /// The child reads one byte here, and runs its program if it is not 0.
  int gate;
  /// The child writes `struct sb_child_fault` here if it cannot run. An end without one means that the program runs.
  int report;
  int has_session;
  int dies_with_parent;
};

enum { sb_child_called_off = 1, sb_child_folder = 2, sb_child_exec = 3, sb_child_descriptors = 4 };

struct sb_child_fault {
  int32_t stage;
  int32_t error;
};

static inline void sb_child_give_up(int report, int stage) {
  struct sb_child_fault fault = {stage, errno};
  ssize_t ignored = write(report, &fault, sizeof fault);
  (void)ignored;
  _exit(127);
}

/// Closes descriptors from `first` on. Close-on-exec is not enough: a child at its gate would keep the bridge's sockets open.
static inline void sb_child_close_from(int first) {
  if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0) return;
  long most = sysconf(_SC_OPEN_MAX);
  if (most < 0 || most > 1 << 20) most = 1 << 20;
  for (int descriptor = first; descriptor < most; descriptor++) close(descriptor);
}

static inline void sb_child_become(const struct sb_child *child, pid_t parent) {
  // If the bridge was started without standard streams, the pipes may have the numbers 0 to 4.
  int report = fcntl(child->report, F_DUPFD_CLOEXEC, 10);
  int gate = fcntl(child->gate, F_DUPFD_CLOEXEC, 10);
  int input = fcntl(child->input, F_DUPFD_CLOEXEC, 10);
  int output = fcntl(child->output, F_DUPFD_CLOEXEC, 10);
  int errors = fcntl(child->errors, F_DUPFD_CLOEXEC, 10);
  if (report < 0 || gate < 0 || input < 0 || output < 0 || errors < 0) sb_child_give_up(child->report, sb_child_descriptors);
  if (child->has_session) setsid();
  else setpgid(0, 0);
  if (child->dies_with_parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have ended before the call.
    if (getppid() != parent) _exit(127);
  }
  // Resets every signal by the system call: the C library reserves two for itself and refuses them, and the bridge may have
  // inherited one as ignored. All zeros mean the default action; the kernel's signal sets have eight bytes.
  uint64_t standard[8] = {0};
  for (int number = 1; number <= 64; number++) syscall(SYS_rt_sigaction, number, standard, NULL, sizeof(uint64_t));
  if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(errors, 2) < 0 || dup3(gate, 3, O_CLOEXEC) < 0 ||
      dup3(report, 4, O_CLOEXEC) < 0)
    sb_child_give_up(report, sb_child_descriptors);
  sb_child_close_from(5);
  if (chdir(child->folder) != 0) sb_child_give_up(4, sb_child_folder);
  uint8_t go = 0;
  ssize_t count;
  do count = read(3, &go, 1);
  while (count < 0 && errno == EINTR);
  if (count != 1 || go == 0) sb_child_give_up(4, sb_child_called_off);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  execve(child->path, child->arguments, child->environment);
  sb_child_give_up(4, sb_child_exec);
}

/// The child's process id, or a negative errno. The child inherits its three streams, an empty signal mask and no handler.
static inline int sb_child_fork(const struct sb_child *child) {
  sigset_t all, before;
  sigfillset(&all);
  // A signal between fork and exec would run the bridge's handler in the child.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t parent = getpid();
  pid_t made = fork();
  int error = errno;
  if (made == 0) sb_child_become(child, parent);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (made < 0) return -error;
  // Set in parent and child: whichever runs first, the process group exists before it is used.
  if (!child->has_session) setpgid(made, made);
  return made;
}

/// Makes a pipe whose ends no child inherits: 0, or errno.
static inline int sb_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno; }

/// Waits until the child has exited, without reaping it, so that no other process gets its id.
static inline void sb_child_wait(int child) {
  siginfo_t ignored;
  while (waitid(P_PID, (id_t)child, &ignored, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
}

/// Reaps the child. Returns 1 with the exit code in `value`, or 0 with the signal.
static inline int sb_child_reap(int child, int *value) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  *value = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  return !WIFSIGNALED(status);
}

static inline void sb_ignore_broken_pipes_here(void) {
  sigset_t broken;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken, NULL);
}

/// A descriptor of a process, which stays that process's if its id is reused, or -1.
static inline int sb_process_open(int process) { return (int)syscall(SYS_pidfd_open, process, 0); }
static inline int sb_process_signal(int descriptor, int number) {
  return (int)syscall(SYS_pidfd_send_signal, descriptor, number, NULL, 0);
}
