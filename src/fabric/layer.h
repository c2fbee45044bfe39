/* SPDX-License-Identifier: MIT */
/*
 * What every wrapper of an endpoint needs: calls that go straight to the layer below. A wrapper's table
 * starts as baton_layer_through and replaces the calls that it is about.
 */
#ifndef BATON_FABRIC_LAYER_H
#define BATON_FABRIC_LAYER_H

#include "fabric/world.h"

extern const struct baton_ep_ops baton_layer_through;

/* Puts a layer with this table and state on top of the endpoint's stack; -ENOMEM. */
int baton_layer_push(struct baton_epx *ep, const struct baton_ep_ops *ops, void *state);

#endif
