// "Show me" below an answer that is wrong: the lab on the run that the question is about; of several lines, on that of the chosen one.
(() => {
    "use strict";
    const show = (section, name, button) => {
        button.remove();
        const place = document.createElement("div");
        place.className = "lab";
        place.dataset.lab = name;
        section.querySelector(".exercise-form").after(place);
        window.reductionShow(place);
    };
    document.addEventListener("submit", ({ target }) => {
        const section = target.closest("[data-exercise]");
        if (!section || !window.reductionShow || "noLab" in section.dataset) return;
        // The script of the exercises has its turn first.
        setTimeout(() => {
            section.querySelector(".exercise-show")?.remove();
            if (!target.querySelector(".exercise-status.is-wrong")) return;
            const line = target.querySelector("input[type=radio]:checked");
            const written = target.querySelector("input[type=text]");
            if (!line && !/\d/.test(written?.value || "")) return;
            section.querySelector(".lab")?.remove();
            const name = `show-${section.dataset.exercise}${line ? `/${line.value}` : ""}`;
            const button = Object.assign(document.createElement("button"), { type: "button", className: "exercise-show", textContent: window.reductionWords.showRun });
            button.addEventListener("click", () => show(section, name, button));
            target.append(button);
        });
    });
})();
