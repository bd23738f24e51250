/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Into this nothing can be loaded.
 */
#include <stdio.h>

int main(void)
{
  printf("static\n");
  return 7;
}
