//! Faults and counters as JSON, with the feature `serde`. The keys are a contract: the `simt` command and the chapters print
//! the same ones.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::counters::{METRICS, PEER_METRICS};
use crate::{Code, Counters, Fault, Note, Site};

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Each metric by its key; counts as integers, ratios as numbers. Those of other devices' memory only where they are not zero.
impl Serialize for Counters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of_peers = || PEER_METRICS.iter().filter(|metric| (metric.value)(self) != 0.0);
        let mut map = serializer.serialize_map(Some(METRICS.len() + of_peers().count()))?;
        for metric in METRICS.iter().chain(of_peers()) {
            let value = (metric.value)(self);
            if metric.is_ratio {
                map.serialize_entry(metric.key, &value)?;
            } else {
                map.serialize_entry(metric.key, &(value as u64))?;
            }
        }
        map.end()
    }
}

/// Site of a fault: fields of the fault's own object for the site itself, an object for the other one.
fn entries<M: SerializeMap>(site: &Site, map: &mut M) -> Result<(), M::Error> {
    let lanes: Vec<u32> = (0..32).filter(|lane| site.lanes >> lane & 1 == 1).collect();
    map.serialize_entry("file", &site.file)?;
    map.serialize_entry("line", &site.line)?;
    if let Some(lines) = &site.between {
        map.serialize_entry("between", lines)?;
    }
    if !site.frames.is_empty() {
        map.serialize_entry("frames", &site.frames)?;
    }
    map.serialize_entry("ptx_line", &site.ptx_line)?;
    map.serialize_entry("opcode", &site.opcode)?;
    map.serialize_entry("action", site.action)?;
    if site.launch > 0 {
        map.serialize_entry("launch", &site.launch)?;
    }
    if let Some(device) = site.device {
        map.serialize_entry("device", &device)?;
    }
    map.serialize_entry("block", &site.block)?;
    map.serialize_entry("warp", &site.warp)?;
    map.serialize_entry("lanes", &lanes)
}

impl Serialize for Site {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        entries(self, &mut map)?;
        map.end()
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Fault { code, message, site, other, count, .. } = self;
        finding(serializer, ("code", code.name()), message, site, other.as_ref(), *count)
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Note { kind, message, site, other, count, .. } = self;
        finding(serializer, ("kind", kind.name()), message, site, other.as_ref(), *count)
    }
}

/// A fault or a note, whose kind has a key of its own.
fn finding<S: Serializer>(
    serializer: S,
    (key, kind): (&str, &str),
    message: &str,
    site: &Site,
    other: Option<&Site>,
    count: u64,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry(key, kind)?;
    map.serialize_entry("message", message)?;
    entries(site, &mut map)?;
    map.serialize_entry("count", &count)?;
    map.serialize_entry("other", &other)?;
    map.end()
}
