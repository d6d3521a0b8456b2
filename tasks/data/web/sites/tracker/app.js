// The choice of the page to show.
"use strict";

const PAGES = { list: showList, issue: showIssue, new: showNew, team: showTeam };
PAGES[document.body.dataset.page]();
