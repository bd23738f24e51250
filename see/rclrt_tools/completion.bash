# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# Verbs and options of the installed command; file names where neither fits.
complete -o default -C 'rclrt --complete' rclrt
