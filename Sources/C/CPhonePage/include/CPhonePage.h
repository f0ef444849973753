#ifndef CPHONEPAGE_H
#define CPHONEPAGE_H

#include <stddef.h>

/// One file of the page that imitates the phone, in the program's read-only data, without a copy at run time.
typedef struct {
    const char *name;
    const char *type;
    const unsigned char *bytes;
    size_t count;
} phone_page_file;

extern const size_t phone_page_file_count;

/// The file of this number, from 0; null beyond the last.
const phone_page_file *phone_page_file_at(size_t number);

#endif
