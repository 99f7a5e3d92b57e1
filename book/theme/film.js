// Figures that play: a drawing whose parts are the beats of a run. It plays when a reader asks for it; without this script all of it
// stands there.
(() => {
    "use strict";
    const BEAT_MS = 1100;
    for (const film of document.querySelectorAll("figure.film")) {
        const controls = film.querySelector(".film-controls");
        const [play, next] = controls.querySelectorAll("button");
        const say = controls.querySelector("p");
        const said = [...film.querySelectorAll(".film-said li")].map((line) => line.textContent);
        const last = said.length - 1;
        let [at, timer] = [last, 0];
        const show = (beat) => {
            at = beat;
            for (const part of film.querySelectorAll(".film-beat")) part.classList.toggle("is-coming", Number(part.dataset.beat) > at);
            say.textContent = said[at];
        };
        const stop = () => {
            clearInterval(timer);
            timer = 0;
            play.textContent = play.dataset.play;
        };
        play.addEventListener("click", () => {
            if (timer) {
                stop();
                return;
            }
            if (at === last) show(0);
            play.textContent = play.dataset.pause;
            timer = setInterval(() => {
                show(at + 1);
                if (at === last) stop();
            }, BEAT_MS);
        });
        next.addEventListener("click", () => {
            stop();
            show(at === last ? 0 : at + 1);
        });
        show(last);
        controls.hidden = false;
    }
})();
