#pragma once
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/// Swift does not see `struct ucred`, which has a user id in its middle: process, user, group.
static inline int sb_peer_user(int descriptor, uid_t *user) {
  uint32_t peer[3];
  socklen_t size = sizeof peer;
  int status = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, peer, &size);
  if (status == 0) *user = peer[1];
  return status;
}
