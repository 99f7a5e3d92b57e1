// The exercises and the quizzes of a page: checks an answer against what the simulator gave when the book was made, shows the
// reason, and remembers what was answered. Nothing is sent or loaded. Without this script the answers are folded under each
// question. Every text is in the page.
(() => {
    "use strict";

    // Storage may be switched off, or full: then the answers last as long as the page.
    const stored = (key) => {
        let known = null;
        try {
            known = JSON.parse(localStorage.getItem(key));
        } catch {
            // see above
        }
        const solved = new Set(Array.isArray(known) ? known : []);
        const add = (id) => {
            solved.add(id);
            try {
                localStorage.setItem(key, JSON.stringify([...solved]));
            } catch {
                // see above
            }
        };
        return { has: (id) => solved.has(id), add, count: () => solved.size };
    };
    const exercises = stored("reduction-course-exercises");
    const quizzes = stored("reduction-course-quizzes");

    // The page for printing has the lists of all chapters.
    const lists = [...document.querySelectorAll(".exercises")];
    const words = lists.length ? lists[0].dataset : {};
    const asked = [...document.querySelectorAll("[data-exercise]")];

    // How many of each chapter's exercises are answered, and which.
    const tell = () => {
        for (const list of lists) {
            const here = asked.filter((section) => section.dataset.chapter === list.dataset.chapter);
            const done = here.filter((section) => exercises.has(section.dataset.exercise));
            const counts = { "{done}": done.length, "{all}": here.length, "{course}": exercises.count() };
            const line = list.querySelector(".exercises-done");
            line.textContent = list.dataset.done.replace(/\{\w+\}/g, (name) => counts[name]);
            line.hidden = exercises.count() === 0;
            for (const link of list.querySelectorAll("a")) {
                link.classList.toggle("is-solved", done.some((section) => link.hash.endsWith(section.id)));
            }
        }
    };

    // A whole number as people write it: 1024, 1,024, 1 024, -3, −3, +3. Null for anything else. The terminal reads
    // numbers in the same way: `whole` in crates/course/src/exercise/key.rs.
    const whole = (text) => {
        const [, sign, digits] = /^([-−+]?)(\d+|\d{1,3}(?:[,_'’\s]\d{3})+)$/.exec(text.trim()) ?? [];
        const number = Number(digits?.replace(/\D/g, "")) * (sign === "-" || sign === "−" ? -1 : 1);
        return Number.isSafeInteger(number) ? String(number) : null;
    };

    const begin = (section, id, known) => {
        const form = section.querySelector(".exercise-form");
        const status = section.querySelector(".exercise-status");
        const input = form.querySelector("input[type=text]");
        const say = (kind, head, reason) => {
            status.className = `exercise-status ${kind}`;
            // What ends in a full stop of Chinese needs no blank.
            status.textContent = reason ? head.replace(/[!-~]$/, "$& ") : head;
            if (!reason) return;
            status.append(...(typeof reason === "string" ? [reason] : [...reason.childNodes].map((node) => node.cloneNode(true))));
        };
        form.addEventListener("submit", (event) => {
            event.preventDefault();
            const choice = form.querySelector("input[type=radio]:checked");
            const answer = input ? whole(input.value) : choice && choice.value;
            if (answer === null) {
                say("is-wrong", input ? words.noNumber : words.noLine);
                (input || form.querySelector("input")).focus();
                return;
            }
            section.dispatchEvent(new CustomEvent("reduction-answer", { bubbles: true, detail: { exercise: section.dataset.exercise, answer } }));
            const isRight = input ? answer === section.dataset.answer : section.dataset.lines.includes(answer);
            // The reason for this answer lies in the folded answers.
            const reason = section.querySelector(`.exercise-answers [data-when="${answer}"] .exercise-why`);
            if (isRight) {
                say("is-right", words.right, reason);
                known.add(id);
                section.classList.add("is-solved");
                tell();
            } else if (reason) {
                say("is-wrong", words.notYet, reason);
            } else {
                const isSmall = Number(answer) < Number(section.dataset.answer);
                say("is-wrong", words.notYet, isSmall ? words.more : words.less);
            }
        });
        section.classList.toggle("is-solved", known.has(id));
        form.hidden = false;
    };

    for (const section of asked) begin(section, section.dataset.exercise, exercises);
    for (const section of document.querySelectorAll("[data-quiz]")) begin(section, section.dataset.quiz, quizzes);
    tell();
})();
