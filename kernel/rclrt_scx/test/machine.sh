# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# What runs in the virtual machine, by busybox' shell: `sh machine.sh PART...`, parts
# being common, life, cycles, cost, partial, shared, many, brief, order, deaf, hotplug, timed, reference. Says on the console `RESULT <name> pass|fail` for every step, as the
# guests' programs do for their scenarios.

result() { if [ "$2" = 0 ]; then echo "RESULT $1 pass"; else echo "RESULT $1 fail"; fi; }
state() { cat /sys/kernel/sched_ext/state; }
refused() { "$@" 2>/tmp/error; [ $? = 1 ]; }
# of_all_cpus COLUMN: as the table of CPUs says.
of_all_cpus() {
  scx status | awk -v column=$1 '$1 == "CPU" { table = 1 } $1 == "slot" { table = 0 } table { n += $column } END { print n + 0 }'
}
jobs() { of_all_cpus 3; }
# enabled_by PID: waits until it has loaded the scheduler.
enabled_by() { for i in $(seq 200); do [ $(state) = enabled ] && return; kill -0 $1 || return; usleep 100000; done; }
servers() { for server in /sys/kernel/debug/sched/ext_server/cpu*; do echo $1 > $server/runtime; done; }

# Decisions and switches of a CPU are one within this time. In the machine virtual CPUs take turns
# of up to some milliseconds, during which the others stand still while the clock goes on.
bound_us=20000

common() {
  # The kernel's own server for starved SCHED_EXT threads outranks SCHED_FIFO for 50 ms a second: the
  # scenarios' dispatcher would now and then be preempted by the jobs it is about to wake.
  servers 0
  scx load --slots 16 --timeout 2000 --record 8192 --group rt; result loads $?
  scx record --output /tmp/events & recorder=$!
  scx_guest all-order; result all_order $?
  scx_guest all-sharing; result all_sharing $?
  scx_guest whatever_threads_do_each_gets_on
  kill -TERM $recorder; wait $recorder; result records $?
  scx check --input /tmp/events --bound-us $bound_us
  result no_queued_job_was_earlier_than_a_running_one $?
  scx_guest a_killed_client_loses_its_slots more_threads_than_slots_is_a_clear_error \
    a_member_leaves_slots_to_others \
    a_second_bind_is_refused_and_a_released_slot_is_free garbage_in_the_slots_stops_nobody \
    another_version_is_a_clear_error an_unprivileged_member_of_the_group_uses_deadlines \
    jobs_misses_preemptions_and_what_runs_are_told a_thread_that_just_ends_keeps_no_slot \
    who_was_passed_over_for_a_wrong_claim_takes_the_place_of_the_latest \
    a_cpu_is_not_said_to_run_nothing_while_its_thread_can_run \
    one_that_becomes_later_without_a_word_gives_way_within_a_tick only_one_that_sleeps_is_asleep \
    a_job_whose_deadline_is_cleared_at_its_end_is_counted \
    several_in_background_get_no_more_than_the_reserve \
    a_member_of_the_group_cannot_forge_whether_it_is_in_force \
    tools_of_another_version_say_so hotplug_is_survived a_cpu_that_is_away_is_not_chosen
  before=$(jobs)
  executor_guest an_executor_takes_the_scheduler_in_the_kernel \
    callbacks_of_an_executor_run_earliest_deadline_first \
    a_callback_with_an_earlier_deadline_preempts \
    a_callback_inherits_the_deadline_of_one_its_group_keeps_waiting executors_share_one_order \
    a_callback_over_its_budget_goes_after_all_deadlines \
    the_kernel_keeps_a_budget_whose_watch_gets_no_cpu \
    a_publication_in_a_callback_is_as_urgent_as_what_it_releases \
    what_a_callback_publishes_to_runs_with_its_deadline a_thread_on_its_way_to_sleep_is_made_urgent \
    a_cpu_that_goes_away_leaves_its_callback_the_priority \
    a_cpu_that_goes_away_leaves_its_callback_the_deadline
  [ $(jobs) -gt $before ]; result jobs_of_executors_are_counted $?
  scx status > /tmp/status; cat /tmp/status
  grep -q 'in force' /tmp/status && grep -q 'mode: full' /tmp/status
  result status_says_what_is_in_force $?
  grep -q 'jobs >=' /tmp/status && grep -q 'misses >=' /tmp/status
  result status_calls_its_counts_lower_bounds $?
  echo JSON-BEGIN; scx status --json; echo JSON-END
  echo PROMETHEUS-BEGIN; scx status --prometheus; echo PROMETHEUS-END
  scx top --count 2 --interval 10 > /tmp/top; [ $(grep -c 'in force' /tmp/top) = 2 ]
  result top_repeats $?
  refused scx load && grep -q 'already in force: rclrt_edf' /tmp/error
  result a_second_load_is_refused $?
  scx_guest a_container_uses_deadlines_by_a_folder_that_it_may_only_read \
    a_container_that_may_write_the_folder_ends_no_scheduler
  scx unload && [ $(state) = disabled ] && [ ! -e /run/rclrt_scx ] && [ ! -e /run/rclrt_scx-own ]
  result unload_restores $?
  refused scx unload && grep -q 'no EDF scheduler is loaded' /tmp/error
  result a_second_unload_is_a_clear_error $?
  refused scx status && grep -q 'no EDF scheduler is loaded' /tmp/error
  result status_without_a_scheduler_is_a_clear_error $?
  servers 50000000
}

# By counts of instructions: first of the kernel's own classes.
cost() {
  servers 0
  scx_guest switches_and_wake_ups_cost_little_more_than_those_of_the_kernel > /tmp/cost; grep COST /tmp/cost
  scx load --slots 512
  scx_guest switches_and_wake_ups_cost_little_more_than_those_of_the_kernel
  scx unload
  servers 50000000
}

# With thousands of threads. They may wait as long as that takes.
many() {
  servers 0
  scx load --slots 2048 --timeout 30000
  scx_guest a_thousand_pinned_and_a_thousand_free_ones_that_wait_cost_a_wake_up_little
  scx unload && [ $(state) = disabled ]; result unloads_after_thousands $?
  scx load --slots 256 --timeout 2000
  scx_guest twice_as_many_that_starve_do_not_end_the_scheduler
  scx unload
  servers 50000000
}

# traced NAME COMMAND...: prints the kernel's trace of it, for the tests to judge.
traced() {
  name=$1; shift
  tracing=/sys/kernel/tracing
  mount -t tracefs tracefs $tracing
  echo mono > $tracing/trace_clock; echo 4096 > $tracing/buffer_size_kb; echo > $tracing/trace
  for event in sched_switch sched_wakeup sched_wakeup_new; do
    echo 1 > $tracing/events/sched/$event/enable
  done
  echo 1 > $tracing/tracing_on
  "$@"
  echo 0 > $tracing/tracing_on; echo 0 > $tracing/events/enable
  echo TRACE-$name-BEGIN; gzip -c < $tracing/trace | base64; echo TRACE-$name-END
  echo 1 > $tracing/buffer_size_kb; umount $tracing
}

# Everything at once, for the judge of the order outside.
order() {
  servers 0
  scx load --slots 16 --timeout 2000 || return
  traced MIX scx_guest whatever_threads_do_those_with_earlier_deadlines_run
  scx unload
  # A scheduler that ignores deadlines runs the mix, for the judge to find out.
  scx_wrong load --slots 16 --timeout 2000 || return
  traced WRONG mix_in_a_wrong_order
  scx_wrong unload
  servers 50000000
}
mix_in_a_wrong_order() {
  scx_guest whatever_threads_do_those_with_earlier_deadlines_run > /dev/null
}

# With kicks that reach only CPUs that sleep: of the others the ticks must do.
deaf() {
  servers 0
  scx_deaf load --slots 16 --timeout 2000 || return
  scx_guest an_earlier_one_preempts_when_a_timer_wakes_it | sed 's/RESULT /RESULT deaf_/'
  scx_deaf unload
  servers 50000000
}

# CPUs that come and go. A thread that waits for them must not wait until the kernel ejects the scheduler.
hotplug() {
  servers 0
  scx load --slots 16 --timeout 2000 || return
  scx_guest whatever_threads_do_while_a_cpu_comes_and_goes_each_gets_on \
    what_waits_for_a_cpu_that_goes_away_goes_on_elsewhere
  scx unload && [ $(state) = disabled ]; result unloads_after_cpus_came_and_went $?
  servers 50000000
}

# Beside the bounds of the analysis: the sets in /tmp/sets.
timed() {
  servers 0
  scx load --slots 16 --timeout 2000 || return
  traced SETS scx_guest sets_of_periodic_threads_run
  scx unload
  servers 50000000
}

# The reference system for $seconds, beside background that computes now and then. The first
# decisions of each minute are judged, and what the machine has left is told.
reference() {
  servers 0
  ifconfig lo up
  scx load --record 8192 || return
  while :; do head -c 200000 /bin/scx | sha256sum > /dev/null; usleep 500000; done & busy=$!
  rclrt_reference_system --scenario /tmp/scenario --executor preemptive_edf --work-ms $work_ms \
    --warm-up 3 --duration $seconds --counts --out /tmp/report & program=$!
  while kill -0 $program && [ $(jobs) = 0 ]; do usleep 100000; done
  minute=0 wrong=0 left=$seconds
  while [ $left -gt 0 ] && kill -0 $program; do
    minute=$((minute + 1)) span=$((left < 60 ? left : 60)) left=$((left - 60))
    scx record --output /tmp/events --seconds $span > /tmp/recorded || wrong=$((wrong + 1))
    head -n 20000 /tmp/events > /tmp/some  # All of them would take longer than the ring buffer lasts.
    scx check --input /tmp/some --bound-us $bound_us > /tmp/checked || wrong=$((wrong + 1))
    echo "MINUTE $minute" $(state) $(awk '/VmRSS/ { print $2 }' /proc/$program/status) \
      $(awk '/MemAvailable/ { print $2 }' /proc/meminfo) \
      $(of_all_cpus 3) $(of_all_cpus 4) \
      $(head -n 1 /tmp/checked)
  done
  wait $program; result the_reference_system_ends_well $?
  [ $wrong = 0 ]; result the_order_is_kept_in_each_minute $?
  [ $(state) = enabled ]; result the_scheduler_stays_in_force $?
  kill $busy
  echo REPORT-BEGIN; cat /tmp/report; echo; echo REPORT-END
  scx unload && [ $(state) = disabled ]; result unloads_after_the_reference_system $?
  servers 50000000
}

# On every kernel that is at hand.
brief() {
  servers 0
  if scx load --slots 16 --timeout 2000 --record 8192 2>/tmp/refusal; then echo 'VERDICT loads'; else
    echo 'VERDICT refused'; cat /tmp/refusal; [ $(state) = disabled ]; result a_refusal_leaves_nothing_loaded $?
    return
  fi
  scx_guest earliest_first an_earlier_one_preempts_when_a_timer_wakes_it \
    a_queued_one_is_promoted_from_another_cpu one_that_moves_to_another_cpu_preempts_there \
    a_hog_with_the_earliest_deadline_leaves_the_reserve \
    one_that_needs_less_than_its_budget_keeps_its_deadlines \
    a_budget_that_begins_owes_nothing_and_has_what_is_left
  executor_guest a_callback_with_an_earlier_deadline_preempts
  scx record --output /tmp/events & recorder=$!
  scx_guest whatever_threads_do_each_gets_on
  kill -TERM $recorder; wait $recorder
  scx check --input /tmp/events --bound-us $bound_us; result the_order_is_kept_in_a_mix_of_all $?
  scx unload && [ $(state) = disabled ]; result unloads $?
}

life() {
  scx_guest loading_without_privilege_is_a_clear_error a_kernel_without_sched_ext_is_a_clear_error \
    a_kernel_without_btf_is_a_clear_error
  scx load; scx_guest without_the_group_access_is_refused_with_the_remedy one_that_was_alone_goes_on_beside_two_that_wake \
    a_nice_thread_gets_less_than_another \
    who_wakes_beside_a_nice_one_does_not_keep_the_others_waiting; scx unload
  scx load --slots 16; executor_guest an_executor_is_told_of_an_ejection_and_goes_on; scx unload
  scx load --slots 16; scx_guest after_an_ejection_threads_go_on_and_are_told
  scx status | grep EJECTED; result status_says_ejected $?
  scx load --slots 16 && [ $(state) = enabled ]; result loads_over_what_an_ejected_one_left $?
  scx unload
  good=0
  for us in 20000 500000 2000000 4000000; do
    scx load > /dev/null & loader=$!
    usleep $us; kill -9 $loader; wait $loader
    case $(state) in
      enabled) scx status > /dev/null && scx unload > /dev/null && good=$((good + 1)) ;;
      *) scx load > /dev/null && scx unload > /dev/null && good=$((good + 1)) ;;
    esac
  done
  [ $good = 4 ]; result a_killed_loader_leaves_all_or_nothing $?
  scx load > /tmp/one 2>&1 & one=$!
  scx load > /tmp/two 2>&1 & two=$!
  wait $one; first=$?; wait $two; second=$?
  [ $((first + second)) = 1 ] && [ $(state) = enabled ]; result of_two_loaders_one_wins $?
  grep -hE 'wait for it|already in force' /tmp/one /tmp/two; result the_other_is_told_why $?
  scx unload
  refused scx load --group nobody_here && grep -q "no group 'nobody_here'" /tmp/error &&
    [ $(state) = disabled ]; result an_unknown_group_is_a_clear_error $?
  mkdir /tmp/cg; mount -t cgroup2 none /tmp/cg; echo +cpu > /tmp/cg/cgroup.subtree_control
  mkdir /tmp/cg/box /tmp/cg/empty
  echo '10000 100000' > /tmp/cg/box/cpu.max; echo 20 > /tmp/cg/empty/cpu.weight
  sleep 1000 & sleeper=$!; echo $sleeper > /tmp/cg/box/cgroup.procs
  refused scx load && [ $(state) = disabled ] &&
    grep -q '1 setting of cgroups that mode full ignores: /box: cpu.max 10000 100000' /tmp/error
  result limits_of_cgroups_are_not_ignored_silently $?
  scx load --mode partial && scx unload; result and_do_not_matter_in_partial_mode $?
  scx load --ignore-cgroups && scx status | grep -q '/box: cpu.max' &&
    scx status --json | grep -q '"cgroup": "/box"'; result and_are_ignored_with_a_word $?
  scx unload; kill $sleeper
  scx load --foreground > /tmp/stays 2>&1 & stays=$!
  enabled_by $stays; echo S > /proc/sysrq-trigger; wait $stays
  [ $? = 1 ] && grep -q 'the kernel has ejected the scheduler' /tmp/stays && [ ! -e /run/rclrt_scx ]
  result one_that_stays_ends_with_an_error_when_ejected $?
  scx load --foreground > /tmp/stays 2>&1 & stays=$!
  enabled_by $stays; usleep 300000; rm /run/rclrt_scx/bind; usleep 2000000
  grep -q 'somebody has removed names from /run/rclrt_scx' /tmp/stays && [ $(state) = enabled ]
  result one_that_stays_tells_of_a_spoilt_folder_and_goes_on $?
  kill -TERM $stays; wait $stays
  [ $? = 0 ] && [ $(state) = disabled ] && [ ! -e /run/rclrt_scx ]; result and_unloads_at_its_end_all_the_same $?
  scx load --foreground & stays=$!; enabled_by $stays; kill -TERM $stays; wait $stays
  [ $? = 0 ] && [ $(state) = disabled ]; result one_that_stays_unloads_at_its_end $?
  scx load --foreground > /tmp/stays & stays=$!; enabled_by $stays; usleep 300000; scx unload; wait $stays
  [ $? = 0 ] && grep -q 'unloaded by another process' /tmp/stays
  result one_that_stays_ends_when_another_unloads $?
  scx load --slots 16 --timeout 1000 --period 50; scx_guest a_nice_thread_among_many_busy_ones_is_not_forgotten
  scx unload
  scx_guest who_can_open_can_bind & guest=$!
  scx load; wait $guest; scx unload
  mount -t bpf bpf /sys/fs/bpf; mkdir /sys/fs/bpf/state
  refused scx load --directory /sys/fs/bpf && grep -q 'name a folder in it' /tmp/error &&
    refused scx unload --directory /sys/fs/bpf && grep -q 'name a folder in it' /tmp/error &&
    rmdir /sys/fs/bpf/state
  result the_machines_own_bpf_file_system_is_refused $?
  scx load --directory /sys/fs/bpf/edf && scx unload --directory /sys/fs/bpf/edf &&
    [ -z "$(ls /sys/fs/bpf)" ] && grep -q ' /sys/fs/bpf bpf ' /proc/mounts
  result a_folder_in_it_will_do_and_it_stays_mounted $?
  scx load --directory /sys/fs/bpf/edf; mount -o remount,bind,ro /sys/fs/bpf
  refused scx unload --directory /sys/fs/bpf/edf && [ $(state) = enabled ] &&
    grep -q 'still has the scheduler in force: cannot remove .*: Read-only file system' /tmp/error
  result a_folder_that_may_only_be_read_is_named $?
  mount -o remount,bind,rw /sys/fs/bpf; scx unload --directory /sys/fs/bpf/edf
  mkdir /tmp/used /tmp/empty; echo kept > /tmp/used/state
  refused scx load --directory /tmp/used && grep -q 'is not an empty folder' /tmp/error &&
    [ $(state) = disabled ] && [ "$(cat /tmp/used/state)" = kept ]
  result a_folder_in_use_is_not_covered $?
  refused scx unload --directory /tmp/used && [ "$(cat /tmp/used/state)" = kept ]
  result unload_removes_nothing_from_other_file_systems $?
  scx load --directory /tmp/empty && scx unload --directory /tmp/empty && [ -d /tmp/empty ] &&
    ! grep -q ' /tmp/empty ' /proc/mounts
  result a_folder_that_was_there_is_left_there $?
}

cycles() {
  good=0
  for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    scx load > /dev/null && [ $(state) = enabled ] && scx unload > /dev/null &&
      [ $(state) = disabled ] && good=$((good + 1))
  done
  [ $good = 30 ]; result loads_and_unloads_30_times $?
}

partial() {
  server=/sys/kernel/debug/sched/ext_server/cpu0
  before=$(cat $server/runtime) period=$(cat $server/period)
  scx load --mode partial --slots 16; result loads_partial $?
  scx status | grep -q 'mode: partial'; result status_says_partial $?
  [ $(cat $server/runtime) != $before ]
  result partial_tunes_the_server $?
  # Scenarios that wake several threads at once are left out: the server outranks their dispatcher.
  scx_guest an_earlier_one_preempts_when_a_timer_wakes_it a_later_one_does_not_preempt \
    a_running_one_demotes_itself_and_yields beside_a_busy_fair_thread_partial_mode_still_runs |
    sed 's/RESULT /RESULT partial_/'
  scx unload
  [ $(cat $server/runtime) = $before ] && [ $(cat $server/period) = $period ]
  result unload_restores_the_server $?
  scx load --mode partial; echo S > /proc/sysrq-trigger
  for i in 1 2 3 4 5 6 7 8 9 10; do [ $(state) = disabled ] || usleep 100000; done
  scx load --mode partial && scx unload && [ $(cat $server/runtime) = $before ] &&
    [ $(cat $server/period) = $period ]
  result loading_over_an_ejected_one_restores_the_server $?
  echo $period > /tmp/period; mount --bind /tmp/period $server/period
  mount -o remount,bind,ro $server/period
  refused scx load --mode partial && grep -q 'does not let' /tmp/error
  result a_server_that_cannot_be_tuned_is_a_clear_error $?
  umount $server/period
  [ $(cat $server/runtime) = $before ] && [ $(state) = disabled ]; result and_is_left_as_it_was $?
  [ ! -e /run/rclrt_scx ] && [ ! -e /run/rclrt_scx-own ] && ! grep -q ' /run/rclrt_scx' /proc/mounts
  result a_failed_load_leaves_neither_folder_nor_mount $?
  # Killed while it tunes the server: whoever reads or writes the period waits for the other.
  mkfifo /tmp/pipe; mount --bind /tmp/pipe $server/period
  scx load --mode partial & loader=$!
  echo $period > $server/period
  for i in $(seq 100); do
    [ -e /run/rclrt_scx/state ] && grep -q wait_for_partner /proc/$loader/wchan && break; usleep 100000
  done
  grep -q wait_for_partner /proc/$loader/wchan && [ -e /run/rclrt_scx/state ] &&
    [ ! -e /run/rclrt_scx-own/link ]; before_its_link=$?
  kill -9 $loader; wait $loader; umount $server/period
  for i in 1 2 3 4 5 6 7 8 9 10; do [ $(state) = disabled ] || usleep 100000; done
  [ $before_its_link = 0 ] && [ $(state) = disabled ]
  result a_loader_killed_while_it_tunes_leaves_no_scheduler $?
  scx unload; [ $(cat $server/runtime) = $before ] && [ $(cat $server/period) = $period ]
  result and_unload_restores_the_server $?
  umount /sys/kernel/debug
  refused scx load --mode partial && grep -q 'partial mode needs the kernel.s server' /tmp/error &&
    [ $(state) = disabled ]
  result a_kernel_without_the_server_is_refused $?
  mount -t debugfs debug /sys/kernel/debug
}

# On several CPUs. Not the other scenarios, see above.
shared() {
  scx load --mode partial --slots 64 || return
  scx_guest beside_busy_fair_threads_on_all_cpus_no_job_is_late
  scx unload
}

echo "KERNEL $(uname -r)"
echo "CACHES $(cat /sys/devices/system/cpu/cpu*/cache/index3/shared_cpu_list | sort -u | wc -l)"
for part in "$@"; do "$part"; done
