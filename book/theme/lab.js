// Starts the labs of a page: loads their scripts, one after the other, when a lab comes near the screen. Classic scripts, because
// a page from a file may load nothing else. What each script does is in its own head lines.
(() => {
    "use strict";
    const labs = [...document.querySelectorAll("div.lab[data-lab]")];
    // Small figures with numbers to change start by themselves, as soon as the scripts are there.
    const ideas = [...document.querySelectorAll("figure.idea")];
    // The print page has every chapter on it; its labs stay still.
    if ((labs.length + ideas.length === 0 && !document.querySelector("[data-exercise]")) || /\/print\.html$/.test(location.pathname)) return;
    const root = typeof path_to_root === "string" ? path_to_root : "";
    // An edition in another language has scripts with its own words, and takes what has no words from the English site.
    const shared = document.documentElement.dataset.shared || "";
    const parts = [
        "words", "run", "trace", "kinds", "origin", "beats", "between", "accesses", "faults", "does", "say", "ranks", "stage", "timeline", "ask", "compare", "registers", "resident", "input", "table",
        "blocks", "edit", "link", "open", "parts", "figure", "idea",
    ];
    // What few take: words for faults in another language, a hundred seeds, a small figure's own script, those of the first kernels and of
    // several devices.
    const alone = ["messages", "seeds", "first", "rank-stage", "idea-operator", "idea-rows", "idea-softmax", "idea-norm", "idea-accuracy"];
    const ownPart = ({ dataset: { idea, lab: slug = "" } }) => {
        if (idea) return `idea-${idea}`;
        return slug.startsWith("first-kernel/") ? "first" : slug.startsWith("ch14-all-reduce") ? "rank-stage" : "";
    };
    // `cargo course book` packs them into one script, and says so here.
    const isPacked = false;
    const lab = (window.reductionLab = { waiting: new Map(), root });

    lab.load = (name) => new Promise((done, failed) => {
        const script = document.createElement("script");
        // In the order in which they are asked for: later parts take what earlier ones leave.
        script.async = false;
        script.src = `${root}${/^(labs|messages)$/.test(name) ? "" : shared}lab/${name}.js`;
        script.onload = done;
        script.onerror = () => failed(new Error(window.reductionWords.notLoaded.replace("{file}", () => script.src)));
        document.head.append(script);
    });
    // An element with its class, properties and parts.
    lab.make = (tag, className, more = {}, parts = []) => {
        const one = Object.assign(document.createElement(tag), { className, ...more });
        one.append(...parts);
        return one;
    };
    // Data scripts call one of these; packed is gzip in base64.
    lab.data = (data) => lab.waiting.set(data.slug, data);
    lab.dataPacked = (slug, packed) => lab.waiting.set(slug, lab.gunzip(packed).then(JSON.parse));
    lab.unzipped = (text) => new Response(new Blob([lab.bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip")));
    lab.bytesOf = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    lab.gunzip = (text) => lab.unzipped(text).text();
    let scripts = null;
    lab.scripts = (packed) => { scripts = packed; };
    const loadPacked = async () => {
        await lab.load("labs");
        document.head.append(Object.assign(document.createElement("script"), { textContent: `${await lab.gunzip(scripts)}//# sourceURL=labs` }));
        scripts = null;
    };

    let loaded = null;
    const load = () => (loaded ||= isPacked ? loadPacked() : Promise.all(parts.map(lab.load)));
    const loadedAlone = new Map();
    lab.loadAlone = (name) => {
        if (!alone.includes(name)) return null;
        if (!loadedAlone.has(name)) loadedAlone.set(name, lab.load(name));
        return loadedAlone.get(name);
    };
    const start = async (element) => {
        await load();
        await lab.loadAlone(ownPart(element));
        if (ideas.includes(element)) return;
        const slug = element.dataset.lab.split("/")[0];
        if (!lab.waiting.has(slug)) await lab.load(`data/${slug}`);
        lab.figure(element, await lab.waiting.get(slug));
    };
    const fail = (element, error) => {
        const words = document.createElement("p");
        words.textContent = window.reductionWords.labFailed.replace("{message}", () => error.message);
        const still = element.querySelector(":scope > .lab-still");
        element.replaceChildren(words, ...(still ? [still] : []));
        element.classList.remove("lab-on");
        element.classList.add("lab-failed");
    };
    // A small figure without its script stands still.
    const begin = (element) => start(element).catch((error) => { if (!ideas.includes(element)) fail(element, error); });
    // A lab that another script puts into the page.
    window.reductionShow = begin;
    // A link to a lab means that it is wanted at once.
    const wanted = (element) => location.hash.startsWith("#lab=") && location.hash.slice(5).startsWith(element.dataset.lab.split("/")[0]);
    const watch = new IntersectionObserver((entries) => {
        for (const entry of entries.filter((entry) => entry.isIntersecting)) {
            watch.unobserve(entry.target);
            begin(entry.target);
        }
    }, { rootMargin: "600px" });
    for (const element of ideas) watch.observe(element);
    for (const element of labs) {
        if (wanted(element)) begin(element);
        else watch.observe(element);
    }
    addEventListener("hashchange", () => labs.filter((element) => wanted(element) && !element.classList.contains("lab-on")).forEach(begin));
})();
