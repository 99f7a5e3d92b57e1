// The colours of listings, as mdBook's own script makes them, for the languages that the book has: mdBook's holds dozens.
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import cpp from "highlight.js/lib/languages/cpp";
import plaintext from "highlight.js/lib/languages/plaintext";
import rust from "highlight.js/lib/languages/rust";

for (const [name, language] of Object.entries({ bash, cpp, plaintext, rust })) hljs.registerLanguage(name, language);
window.hljs = hljs;
