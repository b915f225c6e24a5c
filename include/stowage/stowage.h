// SPDX-License-Identifier: Apache-2.0
// Everything public.
#pragma once

#include "stowage/convert.h"
#include "stowage/data_format.h"
#include "stowage/draw.h"
#include "stowage/error.h"
#include "stowage/inspect.h"
#include "stowage/layout.h"
#include "stowage/machine.h"
#include "stowage/mat.h"
#include "stowage/model.h"
#include "stowage/pixels.h"
#include "stowage/plan.h"
#include "stowage/report.h"
#include "stowage/tensor.h"
#include "stowage/version.h"
