// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Bounds of the public package response-time-analysis. Reads one task set per line, tasks in order of
// priority, before them a reservation: "Q P; C T J D, C T J D, ..."; prints per line the bounds under
// non-preemptive and preemptive fixed priority and non-preemptive EDF of every task, then the one under
// FIFO; then in the reservation those of timers and of polled callbacks of ECRTS 2019, and with the
// latter those of RTSS 2021; 0 for none.

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
        let mut out: Vec<u64> = Vec::new();
        for (k, task) in tasks.iter().enumerate() {
            let higher: Vec<_> = tasks[..k].iter().map(Task::demand).collect();
            let lower = tasks[k + 1..].iter().map(|t| t.wcet).max().unwrap_or(0);
            let under_analysis = fixed_priority::fully_nonpreemptive::TaskUnderAnalysis {
                wcet: task.cost(),
                arrivals: &task.arrivals,
                blocking_bound: Service::from(lower),
            };
            out.push(value(fixed_priority::fully_nonpreemptive::dedicated_uniproc_rta(
                &under_analysis,
                &higher,
                limit,
            )));
        }
        for (k, task) in tasks.iter().enumerate() {
            let higher: Vec<_> = tasks[..k].iter().map(Task::demand).collect();
            out.push(value(fixed_priority::fully_preemptive::dedicated_uniproc_rta(
                &task.demand(),
                &higher,
                limit,
            )));
        }
        for k in 0..tasks.len() {
            let of = |task: &'_ Task| -> (Scalar, u64) { (task.cost(), task.deadline) };
            let (wcet, deadline) = of(&tasks[k]);
            let under_analysis = edf::fully_nonpreemptive::Task {
                wcet,
                arrivals: &tasks[k].arrivals,
                deadline: Duration::from(deadline),
            };
            let others: Vec<_> = tasks
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != k)
                .map(|(_, task)| edf::fully_nonpreemptive::Task {
                    wcet: task.cost(),
                    arrivals: &task.arrivals,
                    deadline: Duration::from(task.deadline),
                })
                .collect();
            out.push(value(edf::fully_nonpreemptive::dedicated_uniproc_rta(
                &under_analysis,
                &others,
                limit,
            )));
        }
        let all = Aggregate::new(tasks.iter().map(Task::demand).collect());
        out.push(value(fifo::dedicated_uniproc_rta(&all, limit)));
        for (k, task) in tasks.iter().enumerate() {
            let higher = Aggregate::new(tasks[..k].iter().map(Task::demand).collect());
            let lower = tasks[k + 1..].iter().map(|t| t.wcet).max().unwrap_or(0);
            let blocking = Service::from(lower);
            out.push(value(ros2::rta_timer(&supply, &task.demand(), &higher, blocking, limit)));
        }
        let polled: Vec<u64> = (0..tasks.len())
            .map(|k| {
                let others = tasks.iter().enumerate().filter(|(i, _)| *i != k);
                let others = Aggregate::new(others.map(|(_, task)| task.demand()).collect());
                let own = tasks[k].demand();
                value(ros2::rta_polling_point_callback(&supply, &own, &others, limit))
            })
            .collect();
        out.extend(&polled);
        let costs: Vec<Scalar> = tasks.iter().map(Task::cost).collect();
        let callbacks: Vec<_> = tasks
            .iter()
            .enumerate()
            .map(|(i, task)| {
                let kind = ros2::rr::CallbackType::Polled(i as i32);
                let bound = Duration::from(polled[i]);
                ros2::rr::Callback::new(bound, &task.arrivals, &costs[i], kind)
            })
            .collect();
        for callback in &callbacks {
            let found = ros2::rr::rta_subchain(&supply, &callbacks, &[callback], limit);
            out.push(if polled.contains(&0) { 0 } else { value(found) });
        }
        let words: Vec<String> = out.iter().map(u64::to_string).collect();
        println!("{}", words.join(" "));
    }
}
