// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/flows/flow_network.hpp"

/// The one function of foretrain_simgrid.so, which sim/flows/flow_simulation.cpp loads. The caller
/// owns the simulation; exceptions pass through, since both sides are built together.
extern "C" [[gnu::visibility("default")]] foretrain::FlowSimulation* foretrain_simgrid_make(
    const foretrain::FlowNetwork& network, foretrain::FlowBackend backend);
