#pragma once
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/// The user of the process at the other end. Swift does not import `struct ucred`: process, user and group, 4 bytes each.
static inline int sb_peer_user(int descriptor, uid_t *user) {
  uint32_t peer[3];
  socklen_t size = sizeof peer;
  int status = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, peer, &size);
  if (status == 0) *user = peer[1];
  return status;
}
