#pragma once
#include <stddef.h>
#include <curl/curl.h>
