#pragma once
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <wslay/wslay.h>

// Callbacks of the frame layer, over plain memory: wslay never calls into Swift while it reads or writes a frame.

/// Bytes to read. `is_dry` is set when wslay asked for more than there are.
typedef struct sb_wslay_source {
  const uint8_t *next;
  size_t left;
  int is_dry;
} sb_wslay_source;

/// Room to write to, and the mask of the frame.
typedef struct sb_wslay_sink {
  uint8_t *next;
  size_t room;
  uint8_t mask[4];
} sb_wslay_sink;

static inline ssize_t sb_wslay_take(uint8_t *buffer, size_t size, int flags, void *context) {
  (void)flags;
  sb_wslay_source *source = (sb_wslay_source *)context;
  if (source->left == 0) {
    source->is_dry = 1;
    return -1;
  }
  size_t count = size < source->left ? size : source->left;
  memcpy(buffer, source->next, count);
  source->next += count;
  source->left -= count;
  return (ssize_t)count;
}

static inline ssize_t sb_wslay_put(const uint8_t *bytes, size_t size, int flags, void *context) {
  (void)flags;
  sb_wslay_sink *sink = (sb_wslay_sink *)context;
  size_t count = size < sink->room ? size : sink->room;
  if (count == 0) return -1;
  memcpy(sink->next, bytes, count);
  sink->next += count;
  sink->room -= count;
  return (ssize_t)count;
}

static inline int sb_wslay_mask(uint8_t *buffer, size_t size, void *context) {
  if (size != sizeof(((sb_wslay_sink *)context)->mask)) return -1;
  memcpy(buffer, ((sb_wslay_sink *)context)->mask, size);
  return 0;
}

/// NULL if there is no memory. `source` must live as long as the context.
static inline wslay_frame_context_ptr sb_wslay_reader(sb_wslay_source *source) {
  struct wslay_frame_callbacks callbacks = {NULL, sb_wslay_take, NULL};
  wslay_frame_context_ptr context = NULL;
  return wslay_frame_context_init(&context, &callbacks, source) == 0 ? context : NULL;
}

/// NULL if there is no memory. `sink` must live as long as the context.
static inline wslay_frame_context_ptr sb_wslay_writer(sb_wslay_sink *sink) {
  struct wslay_frame_callbacks callbacks = {sb_wslay_put, NULL, sb_wslay_mask};
  wslay_frame_context_ptr context = NULL;
  return wslay_frame_context_init(&context, &callbacks, sink) == 0 ? context : NULL;
}
