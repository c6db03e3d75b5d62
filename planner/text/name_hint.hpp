// SPDX-License-Identifier: Apache-2.0
#pragma once

// What was probably meant by an unknown name, for the planner's faces.
#include "scenarios/yaml/nearest.hpp"
