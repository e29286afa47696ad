#ifndef CACTUS_H
#define CACTUS_H

#include "cactus_ffi.h"

#endif
