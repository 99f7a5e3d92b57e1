// The editor of a lab's listing: CodeMirror 6 behind the few calls that book/src/lab/edit.js makes. `cargo course editor` packs it
// and what it imports into one classic script, since a page from a file may load no modules.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { cpp } from "@codemirror/lang-cpp";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

// Colours are the lab's own, so that both themes hold.
const look = EditorView.theme({
    "&": { color: "var(--lab-ink)", backgroundColor: "var(--lab-paper)", border: "1px solid var(--lab-line)", fontSize: "1.3rem", maxHeight: "44rem" },
    "&.cm-focused": { outline: "2px solid var(--links)", outlineOffset: "1px" },
    ".cm-scroller": { fontFamily: "var(--mono-font), monospace", lineHeight: "1.55" },
    ".cm-content": { caretColor: "var(--lab-ink)" },
    ".cm-cursor": { borderLeftColor: "var(--lab-ink)" },
    "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--lab-read) 30%, transparent) !important" },
    ".cm-gutters": { color: "var(--lab-soft)", backgroundColor: "var(--lab-panel)", borderRight: "1px solid var(--lab-line)" },
    ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--lab-read) 9%, transparent)" },
    ".cm-tooltip": { color: "var(--lab-ink)", backgroundColor: "var(--lab-paper)", border: "1px solid var(--lab-line)", fontSize: "1.3rem" },
    ".cm-panels": { color: "var(--lab-ink)", backgroundColor: "var(--lab-panel)" },
});

// Makes an editor inside of `parent`. `changed` hears each new text, `run` hears Ctrl-Enter.
reductionLab.editor = (parent, { text, label, changed, run }) => {
    const view = new EditorView({
        parent,
        state: EditorState.create({
            doc: text,
            extensions: [
                lineNumbers(), highlightActiveLineGutter(), highlightActiveLine(), lintGutter(), history(), drawSelection(), indentOnInput(), bracketMatching(),
                cpp(), indentUnit.of("    "), syntaxHighlighting(classHighlighter), look,
                EditorView.contentAttributes.of({ "aria-label": label }),
                EditorView.updateListener.of((update) => { if (update.docChanged) changed(view.state.doc.toString()); }),
                keymap.of([{ key: "Mod-Enter", run: () => { run(); return true; } }, ...defaultKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
            ],
        }),
    });
    const clamp = (line) => view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines));
    return {
        text: () => view.state.doc.toString(),
        put: (other) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: other } }),
        // What the compiler says, at its lines: `{ line, severity: "error" | "warning", message }`.
        mark: (messages) => view.dispatch(setDiagnostics(view.state, messages.map(({ line, severity, message }) => {
            const { from, to } = clamp(line);
            return { from, to, severity, message };
        }))),
        show: (line) => view.dispatch({ selection: { anchor: clamp(line).from }, effects: EditorView.scrollIntoView(clamp(line).from, { y: "center" }) }),
        focus: () => view.focus(),
        end: () => view.destroy(),
    };
};
