// SPDX-License-Identifier: Apache-2.0
// Precompiled for every test program: the headers that cost most and change least.
#pragma once

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>
