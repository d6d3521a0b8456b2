// The choice of the page to show.
"use strict";

const PAGES = {
  accounts: showAccounts,
  account: showAccount,
  transfer: showTransfer,
  standing: showStanding,
  controls: showControls,
  notices: showNotices,
};
PAGES[document.body.dataset.page]();
