//! Arithmetic against a GPU's records, opcode by opcode.

mod fixture;
mod operands;

#[test]
fn sizes() {
    let mut all = 0;
    for g in fixture::groups() {
        let bits: u32 = g.kernels.iter().flat_map(|k| &k.fixtures).flat_map(|f| f.outputs()).sum();
        let n: usize = g.kernels.iter().map(|k| k.fixtures.len()).sum();
        println!("{} {} kernels {} forms {} kB", g.name, g.kernels.len(), n, bits as usize * 128 / 4 / 1000);
        all += bits as usize * 128 / 4 / 1000;
    }
    println!("{all}");
}
