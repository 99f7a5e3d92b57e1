//! A record made up from a formula, with every part filled in. It is for tests alone.

use super::{
    ABLATION_SIZES, ABLATIONS, CHAMPION, CUB, CUB_NEWER, CUB_UNORDERED, CUB_WHOLE, CeilingPoint, Contest, ENTRANT,
    Floor, HOST_SIZES, LATENCIES, LOGS, Latency, Library, MeasuredCase, Measurement, NOT_AHEAD, Proof, SCHEMA, TORCH,
    WHOLE, WITH_MEMSET, random_sizes, round_sizes,
};
use crate::element::Type;
use crate::{Case, Chapter, Code, Variant};

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
        libraries: [(CUB, "3.0.1"), (CUB_NEWER, "3.6.0"), (TORCH, "2.9")]
            .map(|(name, version)| (name.to_owned(), Library { version: version.to_owned() }))
            .into(),
        floor_us: Some(Floor { one_block: 0.53, full: 0.59, overlapped: 0.41, overlapped_full: 0.47 }),
        ceiling: vec![CeilingPoint { bytes: 1 << 30, us: 236.6, gb_per_s: 4538.0 }],
        read_ceiling_gb_per_s: Some(4548.0),
        latencies: LATENCIES
            .iter()
            .map(|&(name, _)| Latency { name: name.to_owned(), cycles: 29.0, ns: 14.65, mhz: 1980.0 })
            .collect(),
        proofs: [false, true].map(proof).into(),
        ..Measurement::default()
    };
    for ty in [Type::I32, Type::F32, Type::F64] {
        for (slug, name, gb_per_s, largest) in KERNELS {
            let logs = LOGS.filter(|&log| log <= largest && 1u64 << log << ty.bytes().ilog2() <= 1 << 33);
            for case in logs.map(|log| case(slug, name, ty, 1 << log, gb_per_s, 1.3)) {
                if case.n * ty.bytes() < 30 << 20 {
                    let us = case.cold_us.map(|us| us / 1.9);
                    record.cases.push(MeasuredCase {
                        contest: Contest::Warm,
                        cold_us: None,
                        warm_us: us,
                        ..case.clone()
                    });
                }
                record.cases.push(case);
            }
        }
        contest(&mut record.cases, ty);
        host(&mut record.cases, ty);
        record.cases.extend(LOGS.step_by(2).map(|log| case(LAST, TORCH, ty, 1 << log, 4390.0, 4.0)));
        for (n, offset) in [(1 << 24, 1), ((1 << 24) + 3, 0), (1 << 28, 3)] {
            let plain = case(LAST, CHAMPION, ty, n, 4480.0, 1.1);
            record.cases.push(MeasuredCase { offset, ..plain });
        }
    }
    for (slug, name, gb_per_s, _) in KERNELS {
        for block in [32u32, 64, 128, 256, 512, 1024] {
            let speed = gb_per_s * f64::from(block.min(256)).sqrt() / 16.0;
            let plain = case(slug, name, Type::I32, 1 << 24, speed, 1.0);
            let case = Case { block: Some(block), ..plain.case };
            record.cases.push(MeasuredCase { case, swept: Some("block".to_owned()), ..plain });
        }
    }
    for grid in [64, 132, 264, 528] {
        let plain = case("ch07-coarsening", "grid_stride", Type::I32, 1 << 24, 9.0 * f64::from(grid), 1.0);
        let case = Case { grid: Some(grid), ..plain.case };
        record.cases.push(MeasuredCase { case, swept: Some("grid".to_owned()), ..plain });
    }
    record
}

/// The chapter of the contest.
const LAST: &str = "ch08-cooperative";

/// The champion and its rivals, under both rules.
fn contest(cases: &mut Vec<MeasuredCase>, ty: Type) {
    for n in LOGS.map(|log| 1 << log).chain(random_sizes()).chain(round_sizes()) {
        if !n.is_power_of_two() {
            cases.push(case(LAST, CHAMPION, ty, n, 4540.0, 1.3));
        }
        let mut both = vec![case(LAST, CUB, ty, n, 4535.0, 2.1), case(LAST, CUB_NEWER, ty, n, 4535.0, 2.0)];
        let (unordered_us, error) = if ty == Type::I32 { (1.9, None) } else { (2.3, Some(3e-8)) };
        both.push(case(LAST, CUB_UNORDERED, ty, n, 4535.0, unordered_us));
        both.iter_mut().for_each(|case| case.error = error);
        let overlapped = |case: &MeasuredCase| {
            let cold_us = case.cold_us.map(|us| us - 0.2);
            MeasuredCase { contest: Contest::BackToBack, cold_us, ..case.clone() }
        };
        let champion = case(LAST, CHAMPION, ty, n, 4540.0, 1.0);
        let not_ahead = case(LAST, NOT_AHEAD, ty, n, 4540.0, 1.1);
        cases.extend(both.iter().chain([&champion, &not_ahead]).map(overlapped));
        cases.push(case(LAST, WITH_MEMSET, ty, n, 4540.0, 2.2));
        cases.extend(both);
        if ABLATION_SIZES.contains(&n) && ty == Type::I32 {
            cases.extend(ABLATIONS.map(|(name, _)| case(LAST, name, ty, n, 4000.0, 1.6)));
        }
    }
}

/// Calls by the host.
fn host(cases: &mut Vec<MeasuredCase>, ty: Type) {
    for n in HOST_SIZES {
        for (name, us) in [(ENTRANT, 5.0), (CUB, 7.0), (WHOLE, 30.0), (CUB_WHOLE, 28.0)] {
            let made = case(LAST, name, ty, n, 4000.0, us);
            let made = MeasuredCase { cold_us: None, warm_us: made.cold_us, contest: Contest::Host, ..made };
            if [ENTRANT, CUB].contains(&name) {
                let warm_us = made.warm_us.map(|us| us - 2.0);
                cases.push(MeasuredCase { contest: Contest::HostRow, warm_us, ..made.clone() });
            }
            cases.push(made);
        }
    }
}

fn proof(overlap: bool) -> Proof {
    Proof { name: "producer and consumer".to_owned(), ty: "i32".to_owned(), n: 4096, overlap, judged: 10_000, wrong: 0 }
}

fn case(slug: &str, name: &str, ty: Type, n: u64, gb_per_s: f64, floor_us: f64) -> MeasuredCase {
    let us = floor_us + (n * ty.bytes()) as f64 / gb_per_s / 1e3;
    let (ty, op, grid) = (ty.name().to_owned(), Some("sum".to_owned()), Some(n.div_ceil(256) as u32));
    MeasuredCase {
        chapter: Some(slug.to_owned()),
        entrant: if name == CHAMPION { ENTRANT } else { name }.to_owned(),
        case: Case { ty, n, op, block: Some(256), grid, launches: Some(1), ..Case::default() },
        cold_us: Some(us),
        range_us: Some([us * 0.99, us * 1.02]),
        limit_us: Some(us * 0.9),
        judged: 576,
        ok: true,
        ..MeasuredCase::default()
    }
}
