//! Output of a run besides results: a kernel that is refused, counters by line, and budgets that are used up.

use super::*;

/// A kernel that is refused as a fault: its line, what to try, and whose fault it is, in the report and in the object.
#[test]
fn what_the_simulator_does_not_know_is_a_fault_of_a_kernel_that_never_ran() {
    let kernel = ".file 1 \"k.cu\"\n.visible .entry k()\n{\n .reg .b64 %d; .reg .b32 %r;\n .loc 1 2 3\n st.global.pred [%d], %r;\n ret;\n}\n";
    let folder = Folder::with(&[("k.ptx", kernel)]);
    folder.write("k.cu", b"// caf\xe9\n    char* room = take(n);\n");
    let run = "run k.ptx --kernel k --grid 1 --block 32";
    let parts = [
        "error[unsupported-instruction]: unsupported instruction st.global.pred: `st.global.pred [%d], %r;`\n",
        "--> k.cu:2\n",
        "char* room = take(n);",
        "`st.global.pred` in line 9 of the PTX",
        "= try: ",
        "limit of the simulator",
    ];
    folder.refused(run, &parts);
    let object = folder.json(run, 2);
    let fault = &object["faults"][0];
    assert_eq!(
        (&fault["code"], &fault["line"], &fault["ptx_line"]),
        (&"unsupported-instruction".into(), &2.into(), &9.into())
    );
    assert_eq!(fault["lanes"], serde_json::json!([]));
    assert_eq!(object["warp_instructions"], 0);
}

#[test]
fn counters_are_shown_by_line_of_the_source() {
    let folder = Folder::new();
    let run = run_of_race();
    let object = folder.json(&run, 1);
    let lines = object["lines"].as_array().unwrap();
    let sum = |metric: &str| lines.iter().map(|line| line["counters"][metric].as_u64().unwrap()).sum::<u64>();
    for metric in ["ptx_inst_executed", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "ptx_branches"] {
        assert_eq!(sum(metric), object["counters"][metric].as_u64().unwrap(), "{metric}");
    }
    let line = lines.iter().find(|line| line["counters"]["ptx_global_ld_requests"] == 4).unwrap();
    let shown = folder.shown(&format!("{run} --lines"));
    let head = format!("\n{}:{}  ", line["file"].as_str().unwrap(), line["line"]);
    let table = &shown[shown.find(&head).unwrap()..];
    assert!(table.lines().nth(1).unwrap().contains("in["), "{table}");
    assert_contains(table.split("\n\n").next().unwrap(), &["16  l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]);
    assert!(!folder.shown(&run).contains(&head));
}

/// A kernel that does not end is stopped, and so is one that does nothing too often.
#[test]
fn budgets_hold_for_a_block_and_for_a_launch() {
    let folder = Folder::new();
    let run = |options: &str| format!("{RUN_SCALE} {options}");
    let fault = |options: &str| folder.json(&run(options), 1)["faults"][0].clone();
    let of_block = fault("--steps 5");
    assert_eq!((&of_block["code"], &of_block["count"]), (&"step-budget".into(), &1.into()));
    let message = |fault: &Value| fault["message"].as_str().unwrap().to_owned();
    assert_contains(&message(&of_block), &["block (0,0,0) has used up its step budget of 5"]);
    for threads in ["1", "3"] {
        let of_launch = fault(&format!("--launch-steps 10 --threads {threads}"));
        assert_contains(&message(&of_launch), &["the launch has used up its step budget of 10"]);
        assert_eq!(of_launch["block"], serde_json::json!([1, 0, 0]));
    }
    let shown = folder.shown(&run("--steps 0"));
    assert_contains(&shown, &["(`--steps N`)", "or the budget is too small"]);
    assert!(!shown.contains("seen"), "{shown}");
    folder.json(&run("--launch-steps 100"), 0);
}
