// The choice of the page to show.
"use strict";

const PAGES = { visits: showVisits, book: showBook, profile: showProfile, help: showHelp };
PAGES[document.body.dataset.page]();
