/**
 * The dashboard's texts in English, a file a subject. chinese.ts has the same keys with the same holes and tags (held by
 * tests/unit/web/dashboard-texts.test.ts).
 *
 * `{name}` is filled, `{n:one|many}` is chosen by the number n, `<tag>…</tag>` is drawn by whoever shows the text. Keys
 * like `state.open` are codes of the API.
 */
import { ALERTS } from './english/alerts.js';
import { BUDGETS } from './english/budgets.js';
import { CODES } from './english/codes.js';
import { COLUMNS } from './english/columns.js';
import { COSTS } from './english/costs.js';
import { DECISIONS } from './english/decisions.js';
import { FLEET } from './english/fleet.js';
import { FRAME } from './english/frame.js';
import { GLOSSARY } from './english/glossary.js';
import { IMPORTS } from './english/imports.js';
import { MEASURES } from './english/measures.js';
import { OVERVIEW } from './english/overview.js';
import { POLICIES } from './english/policies.js';
import { SAVINGS } from './english/savings.js';
import { TEAMS } from './english/teams.js';
import { PAGES_ENGLISH } from './pages-english.js';
import { SETTINGS_ENGLISH } from './settings-english.js';

export const ENGLISH = {
  ...FRAME,
  ...COLUMNS,
  ...OVERVIEW,
  ...TEAMS,
  ...COSTS,
  ...FLEET,
  ...BUDGETS,
  ...DECISIONS,
  ...SAVINGS,
  ...ALERTS,
  ...POLICIES,
  ...IMPORTS,
  ...CODES,
  ...PAGES_ENGLISH,
  ...SETTINGS_ENGLISH,
  ...GLOSSARY,
  ...MEASURES,
} as const;
