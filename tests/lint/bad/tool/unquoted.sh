#!/bin/sh
# SPDX-License-Identifier: MIT
cat $1
