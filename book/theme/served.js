// Under `cargo course book --serve`: what is answered in a page counts in the terminal too, and the other way round. The server puts what
// is solved into the page before any other script runs.
(() => {
    "use strict";
    const server = window.reductionServer;
    if (!server) return;
    // The page has refused what is no answer. A quiz is no exercise, and counts nowhere.
    document.addEventListener("reduction-answer", ({ detail: { exercise, answer } }) => {
        if (!exercise) return;
        const body = JSON.stringify({ exercise, answer });
        // A server that has ended keeps nothing. The answer arrives though the reader turns the page.
        fetch("/__lab/progress", { method: "POST", keepalive: true, headers: { "X-Lab-Token": server.token }, body }).catch(() => {});
    });
})();
