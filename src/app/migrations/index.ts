/** The migrations, oldest first. A database's schema version is the number of migrations that it has seen. A released migration never changes. */
import { fieldTerms } from './001-field-terms.js';
import { replays } from './002-replays.js';
import { storedGaps } from './003-gaps.js';
import { networkStates } from './004-network-states.js';
import { countsOfProducts } from './005-counts-of-products.js';
import { earlyRefunds } from './006-early-refunds.js';
import { refundsByPlace } from './007-refunds-by-place.js';
import { foldedNames } from './008-folded-names.js';
import { parkedHoles } from './009-parked-records.js';
import { freshFirst } from './010-fresh-first.js';
import { recordsOfCursors } from './011-records-of-cursors.js';
import { protocols } from './012-protocols.js';
import { namesOfLinks } from './013-names-of-links.js';
import { decisions } from './014-decisions.js';
import { words } from './015-words.js';
import { keysByAccount } from './016-keys-by-account.js';
import { payableNames } from './017-payable-names.js';
import type { Migration } from './migration.js';

export { migrate } from './migrate.js';

export const MIGRATIONS: readonly Migration[] = [
  fieldTerms,
  replays,
  storedGaps,
  networkStates,
  countsOfProducts,
  earlyRefunds,
  refundsByPlace,
  foldedNames,
  parkedHoles,
  freshFirst,
  recordsOfCursors,
  protocols,
  namesOfLinks,
  decisions,
  words,
  keysByAccount,
  payableNames,
];
