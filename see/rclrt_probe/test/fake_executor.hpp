// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

extern "C" {
void fake_setup();
void fake_wait();
void fake_timer_job();
/// Without the call of its timer.
void fake_bare_job();
void fake_publish();
/// A job for the message that was published last.
void fake_message_job();
void fake_take();
/// A timer and a subscription without any tracepoint.
void fake_silent_jobs();
void fake_silent_take();
/// A timer without any tracepoint is called, to release one that has them.
void fake_driven_timer(bool runs);
/// Callbacks that nobody has announced, and nothing where a name should be.
void fake_unknown();
}
