// The input by hand: the first numbers, written by the reader. What is no list of whole numbers is refused with a sentence.
(() => {
    "use strict";
    const lab = reductionLab;
    const { text, make } = lab;
    // So many numbers can be looked over, and so large they fit into a box of the stage.
    const COUNT_MAX = 64;
    const SIZE_MAX = 999;

    const most = (n) => Math.min(n, COUNT_MAX);

    // A list of numbers from what was written; or, as `wrong`, the sentence that says why it is none.
    lab.parseInput = (words, n) => {
        const found = words.trim().replaceAll("−", "-").split(/[\s,;]+/).filter(Boolean);
        if (found.length === 0) return { wrong: text("inputEmpty") };
        if (found.length > most(n)) return { wrong: text("inputMany", { count: found.length, most: most(n) }) };
        for (const word of found) {
            if (!/^[+-]?\d+$/.test(word) || Math.abs(Number(word)) > SIZE_MAX) return { wrong: text("inputWord", { word: word.slice(0, 20), most: SIZE_MAX }) };
        }
        return { given: found.map(Number) };
    };
    // As the address has it, and back; what cannot be read there is left out.
    lab.inputWords = (given) => given.join(".");
    lab.inputOf = (words, n) => (words ? lab.parseInput(words.replaceAll(".", " "), n).given || null : null);

    lab.inputField = (figure) => {
        const { parts } = figure;
        const place = (parts.input = make("details", "lab-input"));
        place.append(make("summary", "", { textContent: text("inputOpen") }));
        const form = make("form", "", { noValidate: true });
        const label = make("label", "");
        const words = make("span", "");
        const field = make("input", "lab-numbers", { type: "text", autocomplete: "off", spellcheck: false, inputMode: "text" });
        label.append(words, field);
        const wrong = make("p", "lab-wrong");
        wrong.setAttribute("role", "alert");
        const back = make("button", "lab-button lab-input-back", { type: "button", textContent: text("inputBack") });
        back.addEventListener("click", () => { wrong.textContent = ""; figure.open({ given: null }); });
        form.append(label, make("button", "lab-button lab-input-use", { type: "submit", textContent: text("inputUse") }), " ", back, wrong);
        form.addEventListener("submit", (event) => {
            event.preventDefault();
            const { given, wrong: why } = lab.parseInput(field.value, figure.chosen.n);
            wrong.textContent = why || "";
            field.setAttribute("aria-invalid", String(Boolean(why)));
            if (given) figure.open({ given });
        });
        place.append(form);
        // The numbers of the run that is shown.
        figure.fillInput = () => {
            const { chosen } = figure;
            // Sums that are rounded need the numbers that the lab has.
            place.hidden = Boolean(chosen.ranks && chosen.elements);
            words.textContent = text("inputFirst", { most: most(chosen.n) });
            back.hidden = !chosen.given;
            field.value = Array.from({ length: chosen.given ? chosen.given.length : chosen.fill === undefined ? most(chosen.n) : 0 }, (_, i) => lab.element(chosen.n, i, chosen.given)).join(" ");
            field.setAttribute("aria-invalid", "false");
        };
        return place;
    };
})();
