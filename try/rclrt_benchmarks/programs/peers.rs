// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Bounds of the public package response-time-analysis, for the experiment `peers`. Reads one task set per line,
// tasks in order of priority, before them a reservation: "Q P; C T J D, C T J D, ..."; prints per line
// "NAME R R ...; NAME ..." with a bound of every task, 0 for none. `timer` and `polled` are those of ECRTS 2019
// in the reservation, `fair` and `arrival`, which start from `polled`, Theorems 2 and 3 of RTSS 2021.

use response_time_analysis::arrival::Sporadic;
use response_time_analysis::demand::{Aggregate, RBF};
use response_time_analysis::fixed_point::SearchResult;
use response_time_analysis::time::{Duration, Service};
use response_time_analysis::wcet::Scalar;
use response_time_analysis::supply::Periodic;
use response_time_analysis::{edf, fifo, fixed_priority, ros2};
use std::io::BufRead;

struct Task {
    wcet: u64,
    arrivals: Sporadic,
    deadline: u64,
}

impl Task {
    fn cost(&self) -> Scalar {
        Scalar::new(Service::from(self.wcet))
    }

    fn demand(&self) -> RBF<&Sporadic, Scalar> {
        RBF::new(&self.arrivals, self.cost())
    }
}

fn value(result: SearchResult) -> u64 {
    result.map(u64::from).unwrap_or(0)
}

fn edf_task(task: &Task) -> edf::fully_nonpreemptive::Task<'_, Sporadic> {
    edf::fully_nonpreemptive::Task {
        wcet: task.cost(),
        arrivals: &task.arrivals,
        deadline: Duration::from(task.deadline),
    }
}

fn main() {
    let limit = Duration::from(10_000_000);
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("text");
        let (reservation, set) = line.split_once(';').expect("a reservation");
        let reservation: Vec<u64> =
            reservation.split_whitespace().map(|w| w.parse().expect("number")).collect();
        let supply = Periodic::new(Service::from(reservation[0]), Duration::from(reservation[1]));
        let tasks: Vec<Task> = set
            .split(',')
            .map(|text| {
                let n: Vec<u64> = text.split_whitespace().map(|w| w.parse().expect("number")).collect();
                Task {
                    wcet: n[0],
                    arrivals: Sporadic::new(Duration::from(n[1]), Duration::from(n[2])),
                    deadline: n[3],
                }
            })
            .collect();
        let n = tasks.len();
        let say = |name: &str, bounds: &[u64]| {
            let words: Vec<String> = bounds.iter().map(u64::to_string).collect();
            print!("{} {}; ", name, words.join(" "));
        };
        let higher = |k: usize| -> Vec<_> { tasks[..k].iter().map(Task::demand).collect() };
        let blocking = |k: usize| -> Service {
            Service::from(tasks[k + 1..].iter().map(|t| t.wcet).max().unwrap_or(0))
        };
        let others = |k: usize| tasks.iter().enumerate().filter(move |(i, _)| *i != k).map(|(_, t)| t);
        let each = |name: &str, of: &dyn Fn(usize) -> SearchResult| -> Vec<u64> {
            let bounds: Vec<u64> = (0..n).map(|k| value(of(k))).collect();
            say(name, &bounds);
            bounds
        };
        each("nonpreemptive", &|k| {
            let under_analysis = fixed_priority::fully_nonpreemptive::TaskUnderAnalysis {
                wcet: tasks[k].cost(),
                arrivals: &tasks[k].arrivals,
                blocking_bound: blocking(k),
            };
            fixed_priority::fully_nonpreemptive::dedicated_uniproc_rta(&under_analysis, &higher(k), limit)
        });
        each("preemptive", &|k| {
            fixed_priority::fully_preemptive::dedicated_uniproc_rta(&tasks[k].demand(), &higher(k), limit)
        });
        each("edf_nonpreemptive", &|k| {
            let others: Vec<_> = others(k).map(edf_task).collect();
            edf::fully_nonpreemptive::dedicated_uniproc_rta(&edf_task(&tasks[k]), &others, limit)
        });
        let demands: Vec<_> = tasks.iter().map(Task::demand).collect();
        each("edf", &|k| {
            let of = |i: usize| edf::fully_preemptive::Task {
                rbf: &demands[i],
                deadline: Duration::from(tasks[i].deadline),
            };
            let others: Vec<_> = (0..n).filter(|i| *i != k).map(of).collect();
            edf::fully_preemptive::dedicated_uniproc_rta(&of(k), &others, limit)
        });
        let all = Aggregate::new(tasks.iter().map(Task::demand).collect());
        each("fifo", &|_| fifo::dedicated_uniproc_rta(&all, limit));
        each("timer", &|k| {
            let higher = Aggregate::new(higher(k));
            ros2::rta_timer(&supply, &tasks[k].demand(), &higher, blocking(k), limit)
        });
        let polled = each("polled", &|k| {
            let others = Aggregate::new(others(k).map(Task::demand).collect());
            ros2::rta_polling_point_callback(&supply, &tasks[k].demand(), &others, limit)
        });
        if polled.contains(&0) {
            say("fair", &vec![0; n]);
            say("arrival", &vec![0; n]);
        } else {
            let costs: Vec<Scalar> = tasks.iter().map(Task::cost).collect();
            let kind = |i: usize| ros2::rr::CallbackType::Polled(i as i32);
            let bound = |i: usize| Duration::from(polled[i]);
            let fair: Vec<_> = (0..n)
                .map(|i| ros2::rr::Callback::new(bound(i), &tasks[i].arrivals, &costs[i], kind(i)))
                .collect();
            each("fair", &|k| ros2::rr::rta_subchain(&supply, &fair, &[&fair[k]], limit));
            let arrival: Vec<_> = (0..n)
                .map(|i| ros2::bw::Callback::new(bound(i), &tasks[i].arrivals, &costs[i], kind(i)))
                .collect();
            each("arrival", &|k| ros2::bw::rta_subchain(&supply, &arrival, &[&arrival[k]], limit));
        }
        println!();
    }
}
