// The words of the pages' own scripts; those of the labs are in lab/words.js. A translated book replaces both.
window.reductionWords = {
    showRun: "Show me the run",
    tapAgain: "Tap once more for the glossary.",
    notLoaded: "{file} cannot be loaded",
    labFailed: "This figure could not be started: {message}.",
};
