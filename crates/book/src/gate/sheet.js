// Runs in the sheet that shows one page in every size and theme: looks at each view and reports what is wrong in it.
// The sheet ends with a picture that the server holds back until it has the report, so that the browser stays for it.
const SETTLE_MS = 400; // late scripts and fonts; the page's own load event has already fired
const VIEWS = 4;

// A wide thing may scroll in a box of its own; <main> is where that ends.
function scrollsInABox(element, main) {
  for (let box = element.parentElement; box && box !== main; box = box.parentElement) {
    if (["auto", "scroll"].includes(getComputedStyle(box).overflowX)) return true;
  }
  return false;
}

function describe(element) {
  const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
  const name = element.tagName.toLowerCase() + (element.id ? "#" + element.id : "");
  return `<${name}>` + (text ? ` “${text}”` : "");
}

function overflow(view, main) {
  const width = view.document.documentElement.clientWidth;
  for (const element of main.querySelectorAll("*")) {
    if (element.ownerSVGElement || !element.checkVisibility({ visibilityProperty: true })) continue;
    const box = element.getBoundingClientRect();
    const out = Math.max(box.right - width, -box.left);
    if (box.width > 1 && out > 1 && !scrollsInABox(element, main)) {
      return [`${describe(element)} reaches ${Math.round(out)} px past the edge`];
    }
  }
  const content = main.parentElement;
  const hidden = content.scrollWidth - content.clientWidth;
  return hidden > 1 ? [`the page is ${hidden} px wider than its window`] : [];
}

function pictures(main) {
  const problems = [];
  for (const image of main.querySelectorAll("img")) {
    const name = `picture ${image.getAttribute("src")}`;
    if (!(image.complete && image.naturalWidth > 0)) problems.push(`${name} is not shown`);
    if (!image.alt) problems.push(`${name} has no alternative text`);
  }
  for (const svg of main.querySelectorAll("svg")) {
    const box = svg.getBoundingClientRect();
    if (svg.checkVisibility() && !(box.width > 0 && box.height > 0)) {
      problems.push(`${describe(svg.parentElement)} holds a drawing without a size`);
    }
  }
  for (const svg of main.querySelectorAll("figure svg")) {
    if (!svg.querySelector("title") && !svg.getAttribute("aria-label")) {
      problems.push(`${describe(svg.closest("figure"))} holds a drawing without a title`);
    }
  }
  return problems;
}

function inspect(frame) {
  const view = frame.contentWindow;
  if (!view.__errors) return ["did not load"];
  const main = view.document.querySelector("main");
  if (!main || main.innerText.trim() === "") return [...view.__errors, "shows nothing: <main> is empty"];
  const problems = [...view.__errors, ...overflow(view, main), ...pictures(main)];
  if (!view.document.documentElement.classList.contains(frame.dataset.theme)) {
    problems.push(`does not take the theme ${frame.dataset.theme}`);
  }
  return problems;
}

async function report() {
  const views = [...document.querySelectorAll("iframe")].map((frame) => {
    return { view: frame.title, problems: inspect(frame) };
  });
  await fetch("/__report", { method: "POST", body: JSON.stringify(views) });
}

let loaded = 0;
document.addEventListener("load", (event) => {
  if (event.target.tagName === "IFRAME" && ++loaded === VIEWS) setTimeout(report, SETTLE_MS);
}, true);
