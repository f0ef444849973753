#ifndef CEMBEDDED_H
#define CEMBEDDED_H

#include <stddef.h>

/// A file of the project in the program's read-only data; no file is read at run time.
typedef struct {
    const char *name;
    const unsigned char *bytes;
    size_t count;
} embedded_file;

/// The example configuration, which `config example` prints.
extern const embedded_file configuration_example;

extern const size_t demo_recording_count;

/// The recorded run of this number, from 0, for `demo`, named by what it shows; null beyond the last.
const embedded_file *demo_recording_at(size_t number);

/// The commit's abbreviated hash; empty if the build did not record one.
const char *build_commit(void);

/// Writes names and versions of the linked libraries, and returns the length of the untruncated text.
size_t build_libraries(char *text, size_t room);

#endif
