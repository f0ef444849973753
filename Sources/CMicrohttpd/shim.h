#pragma once
#include <stddef.h>
#include <microhttpd.h>
