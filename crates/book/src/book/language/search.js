
// Chinese has no spaces between words: this index knows pairs of neighbouring characters, and what is looked for is cut in the same way.
(() => {
    "use strict";
    const { elasticlunr } = window;
    const results = document.getElementById("mdbook-searchresults");
    const HAN = /([\u3400-\u9fff\uf900-\ufaff\u{20000}-\u{3ffff}]+)/u;
    const pairs = ([...signs]) => (signs.length < 2 ? signs : signs.slice(1).map((sign, i) => signs[i] + sign));
    const cut = (words) => words.split(/[^\x00-\x7f\p{L}\p{N}]+/u).flatMap((word) => word.split(HAN).flatMap((part, i) => (i % 2 ? pairs(part) : part.replace(/^[^a-z0-9_]+|[^a-z0-9_]+$/g, "") || [])));
    const plain = elasticlunr.tokenizer;
    elasticlunr.tokenizer = Object.assign((text) => plain(text).flatMap(cut), plain);
    // mdBook counts words to choose what it shows of a section, and takes a clause for one: here it is what stands around the first find.
    const excerpt = (item) => {
        const { doc_urls: urls, index } = window.search;
        const [path, hash] = item.querySelector("a").getAttribute("href").split(/\?[^#]*/);
        const { body } = index.documentStore.docs[urls.indexOf(hash === "#" ? path : path + hash)] || {};
        if (!body) return;
        const sought = document.getElementById("mdbook-searchbar").value.trim().toLowerCase().split(/\s+/);
        const found = sought.map((words) => body.toLowerCase().indexOf(words)).filter((at) => at >= 0);
        const from = Math.max(0, Math.min(...(found.length ? found : [0])) - 24);
        const escaped = sought.map((words) => words.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
        const parts = `${from ? "…" : ""}${body.slice(from, from + 96)}…`.split(new RegExp(`(${escaped.join("|")})`, "i"));
        item.querySelector(".teaser").replaceChildren(...parts.map((part, i) => (i % 2 ? Object.assign(document.createElement("em"), { textContent: part }) : part)));
    };
    const header = document.getElementById("mdbook-searchresults-header");
    const title = () => {
        const words = document.getElementById("mdbook-searchbar").value.trim();
        const count = header.textContent.match(/^\d+/)?.[0] || 0;
        header.textContent = "{words}: {count}".replace("{words}", () => words).replace("{count}", count);
    };
    new MutationObserver(() => { if (/^(\d+|No) search result/.test(header.textContent)) title(); }).observe(header, { childList: true, characterData: true, subtree: true });
    new MutationObserver((changes) => { for (const { addedNodes } of changes) for (const item of addedNodes) excerpt(item); }).observe(results, { childList: true });
})();
