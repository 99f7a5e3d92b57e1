// The questions of a chapter: checks an answer against what the simulator gave when the book was made, shows the reason,
// and remembers what was answered. Nothing is sent or loaded. Without this script the answers are folded under each
// question. Every text is in the page.
(() => {
    "use strict";

    const KEY = "reduction-course-exercises";
    // Storage may be switched off, or full: then the answers last as long as the page.
    const load = () => {
        try {
            const known = JSON.parse(localStorage.getItem(KEY));
            return Array.isArray(known) ? new Set(known) : new Set();
        } catch {
            return new Set();
        }
    };
    const solved = load();
    const remember = (id) => {
        solved.add(id);
        try {
            localStorage.setItem(KEY, JSON.stringify([...solved]));
        } catch {
            // see above
        }
    };

    const begin = (group) => {
        const sections = [...group.querySelectorAll(".exercise")];
        const done = group.querySelector(".exercises-done");
        const tell = () => {
            const here = sections.filter((section) => solved.has(section.dataset.exercise));
            for (const section of sections) section.classList.toggle("is-solved", here.includes(section));
            const counts = { "{done}": here.length, "{all}": sections.length, "{course}": solved.size };
            done.textContent = group.dataset.done.replace(/\{\w+\}/g, (name) => counts[name]);
            done.hidden = solved.size === 0;
        };

        // A whole number as people write it: 1024, 1,024, 1 024, -3, −3, +3. Null for anything else. The terminal reads
        // numbers in the same way: `whole` in crates/course/src/exercise/key.rs.
        const whole = (text) => {
            const [, sign, digits] = /^([-−+]?)(\d+|\d{1,3}(?:[,_'’\s]\d{3})+)$/.exec(text.trim()) ?? [];
            const number = Number(digits?.replace(/\D/g, "")) * (sign === "-" || sign === "−" ? -1 : 1);
            return Number.isSafeInteger(number) ? String(number) : null;
        };

        // The element that says why, for this answer; it lies in the folded answers.
        const why = (section, answer) =>
            section.querySelector(`.exercise-answers [data-when="${answer}"] .exercise-why`);

        for (const section of sections) {
            const form = section.querySelector(".exercise-form");
            const status = section.querySelector(".exercise-status");
            const input = form.querySelector("input[type=text]");
            const say = (kind, head, reason) => {
                status.className = `exercise-status ${kind}`;
                status.textContent = head;
                if (!reason) return;
                status.append(" ");
                for (const node of reason.childNodes) status.append(node.cloneNode(true));
            };
            form.addEventListener("submit", (event) => {
                event.preventDefault();
                const choice = form.querySelector("input[type=radio]:checked");
                const answer = input ? whole(input.value) : choice && choice.value;
                if (answer === null) {
                    say("is-wrong", input ? group.dataset.noNumber : group.dataset.noLine);
                    (input || form.querySelector("input")).focus();
                    return;
                }
                const isRight = input ? answer === section.dataset.answer : section.dataset.lines.includes(answer);
                const reason = why(section, answer);
                if (isRight) {
                    say("is-right", group.dataset.right, reason);
                    remember(section.dataset.exercise);
                    tell();
                } else if (reason) {
                    say("is-wrong", group.dataset.notYet, reason);
                } else {
                    say("is-wrong", `${group.dataset.notYet} ${group.dataset.else}`);
                }
            });
            form.hidden = false;
        }
        tell();
    };

    // One group on a chapter's page; the page for printing has them all.
    for (const group of document.querySelectorAll(".exercises")) begin(group);
})();
