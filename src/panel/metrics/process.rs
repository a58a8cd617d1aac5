//! The process as the system sees it, under the names that dashboards expect.
//!
//! Read from `/proc`; a value that is not found there is left out.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;

use super::gauges::gauge;

/// Ticks per second in `/proc`, the same on every Linux.
const TICKS: f64 = 100.0;

#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let out = &mut encoder;
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let kilobytes = |key| number(&status, key).map(|value| value * 1024.0);
        let (memory, peak) = (kilobytes("VmRSS:"), kilobytes("VmHWM:"));
        let threads = number(&status, "Threads:");
        for (name, help, value) in [
            ("resident_memory_bytes", "Memory in use", memory),
            ("resident_memory_max_bytes", "Peak memory in use", peak),
            ("threads", "Threads", threads),
            ("open_fds", "Open files and sockets", open_files()),
        ] {
            if value.is_some() {
                gauge(out, &format!("process_{name}"), help, value)?;
            }
        }
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        if let Some(seconds) = processor_seconds(&stat) {
            let name = "process_cpu_seconds";
            let help = "CPU time used";
            let encoder = out.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(seconds).encode(encoder)?;
        }
        Ok(())
    }
}

/// The number after a key.
fn number(status: &str, key: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

fn open_files() -> Option<f64> {
    // One of them is the directory that is being read.
    let count = fs::read_dir("/proc/self/fd").ok()?.count();
    Some(count.saturating_sub(1) as f64)
}

/// CPU time in user and system mode. The process name before it may contain anything.
fn processor_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_figures_are_read_from_proc() {
        let status = "Name:\tx\nVmRSS:\t   2048 kB\nThreads:\t7\n";
        assert_eq!(number(status, "VmRSS:"), Some(2048.0));
        assert_eq!(number(status, "Threads:"), Some(7.0));
        assert_eq!(number(status, "VmHWM:"), None);
        let stat = "1 (a) b) S 0 1 1 0 -1 4194304 9 0 0 0 150 50 0 0 20 0 7 0 1 2 3";
        assert_eq!(processor_seconds(stat), Some(2.0));
        assert_eq!(processor_seconds(""), None);
    }
}
