//! A record that nobody measured, for tests alone: every part filled in, from a formula.

use std::collections::BTreeMap;

use super::{CHAMPION, CUB, CeilingPoint, Floor, LOGS, Library, MeasuredCase, Measurement, OVERLAP, SCHEMA, TORCH};
use crate::element::Type;
use crate::{Chapter, Code, Variant};

const CH05: Chapter = Chapter {
    slug: "ch05-unroll",
    title: "Unroll the last warp",
    variants: &[
        Variant { name: "unroll_volatile", announced: Some(Code::SharedRace), ..Variant::BASE },
        Variant { name: "unroll_syncwarp", ..Variant::BASE },
        Variant { name: "unroll_shuffle", ..Variant::BASE },
    ],
    ..Chapter::BASE
};

/// What the charts ask of the chapters' lists.
pub const LESSONS: [&Chapter; 1] = [&CH05];

/// Slug, variant, GB/s that it tends to, largest size that was measured.
const KERNELS: [(&str, &str, f64, u32); 17] = [
    ("ch01-naive", "interleaved_modulo", 640.0, 28),
    ("ch01-naive", "simple_global", 210.0, 28),
    ("ch02-divergence", "bitmask", 700.0, 28),
    ("ch02-divergence", "strided_index", 950.0, 28),
    ("ch02-divergence", "convergent_global", 420.0, 28),
    ("ch03-sequential", "sequential", 1150.0, 28),
    ("ch04-first-add", "first_add", 2050.0, 30),
    ("ch05-unroll", "unroll_volatile", 2900.0, 30),
    ("ch05-unroll", "unroll_syncwarp", 2700.0, 30),
    ("ch05-unroll", "unroll_shuffle", 2650.0, 30),
    ("ch06-templates", "template_shuffle", 3050.0, 30),
    ("ch07-coarsening", "grid_stride", 4200.0, 30),
    ("ch07-coarsening", "grid_stride_shuffle", 4250.0, 30),
    ("ch07-coarsening", "vectorised", 4420.0, 30),
    ("ch08-cooperative", "redux", 4300.0, 30),
    ("ch08-cooperative", "cluster", 4000.0, 30),
    ("ch08-cooperative", CHAMPION, 4540.0, 30),
];

/// The record.
pub fn record() -> Measurement {
    let mut record = Measurement {
        schema: SCHEMA,
        device: "Synthetic GPU".to_owned(),
        arch: "sm_90".to_owned(),
        driver: Some("580.1".to_owned()),
        cuda: Some("13.0".to_owned()),
        multiprocessors: Some(132),
        l2_bytes: Some(60 << 20),
        memory_bytes: Some(140 << 30),
        date: "2026-01-02T03:04:05Z".to_owned(),
        commit: Some("0123456789abcdef".to_owned()),
        command: "cargo course measure".to_owned(),
        method: "made up for a test.".to_owned(),
        ptx_sha256: BTreeMap::new(),
        cub: Some(Library { version: "3.0.1".to_owned() }),
        torch: Some(Library { version: "2.9".to_owned() }),
        floor_us: Some(Floor { one_block: 0.53, full: 0.59 }),
        ceiling: vec![CeilingPoint { bytes: 1 << 30, us: 236.6, gb_per_s: 4538.0 }],
        read_ceiling_gb_per_s: Some(4548.0),
        cases: Vec::new(),
    };
    for ty in [Type::I32, Type::F32, Type::F64] {
        for (slug, name, gb_per_s, largest) in KERNELS {
            let logs = LOGS.filter(|&log| log <= largest && 1u64 << log << ty.bytes().ilog2() <= 1 << 33);
            record.cases.extend(logs.map(|log| case(Some(slug), name, ty, 1 << log, gb_per_s, 1.05)));
        }
        let alone = LOGS.map(|log| case(Some("ch08-cooperative"), CHAMPION, ty, 1 << log, 4480.0, 1.6));
        record.cases.extend(alone.map(|alone| MeasuredCase { swept: Some(OVERLAP.to_owned()), ..alone }));
        record.cases.extend(LOGS.map(|log| case(None, CUB, ty, 1 << log, 4535.0, 2.1)));
        record.cases.extend(LOGS.step_by(2).map(|log| case(None, TORCH, ty, 1 << log, 4390.0, 4.0)));
        for (n, offset) in [(1 << 24, 1), ((1 << 24) + 3, 0), (1 << 28, 3)] {
            let plain = case(Some("ch08-cooperative"), CHAMPION, ty, n, 4480.0, 1.1);
            record.cases.push(MeasuredCase { offset, ..plain });
        }
    }
    for (slug, name, gb_per_s, _) in KERNELS {
        for block in [32u32, 64, 128, 256, 512, 1024] {
            let speed = gb_per_s * f64::from(block.min(256)).sqrt() / 16.0;
            let swept = case(Some(slug), name, Type::I32, 1 << 24, speed, 1.0);
            record.cases.push(MeasuredCase { block: Some(block), swept: Some("block".to_owned()), ..swept });
        }
    }
    for grid in [64, 132, 264, 528] {
        let swept = case(Some("ch07-coarsening"), "grid_stride", Type::I32, 1 << 24, 9.0 * f64::from(grid), 1.0);
        record.cases.push(MeasuredCase { grid: Some(grid), swept: Some("grid".to_owned()), ..swept });
    }
    record
}

fn case(slug: Option<&str>, name: &str, ty: Type, n: u64, gb_per_s: f64, floor_us: f64) -> MeasuredCase {
    let us = floor_us + (n * ty.bytes()) as f64 / gb_per_s / 1e3;
    let warm_us = if n * ty.bytes() < 60 << 20 { floor_us + (us - floor_us) / 1.9 } else { us };
    MeasuredCase {
        chapter: slug.map(str::to_owned),
        name: name.to_owned(),
        ty: ty.name().to_owned(),
        n,
        offset: 0,
        block: slug.map(|_| 256),
        grid: slug.map(|_| n.div_ceil(256) as u32),
        factor: None,
        launches: slug.map(|_| 1),
        swept: None,
        cold_us: Some(us),
        cold_range_us: Some([us * 0.99, us * 1.02]),
        warm_us: Some(warm_us),
        ok: true,
    }
}
