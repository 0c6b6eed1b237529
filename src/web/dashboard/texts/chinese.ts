/**
 * The dashboard's texts in simplified Chinese, in the words of the report's catalogue (rendering/report/texts.ts):
 * the English file of a subject says what a key is for.
 *
 * The compiler sees to it that no key is missing; a test sees to the holes and tags.
 */
import { ALERTS } from './chinese/alerts.js';
import { BUDGETS } from './chinese/budgets.js';
import { CODES } from './chinese/codes.js';
import { COLUMNS } from './chinese/columns.js';
import { COSTS } from './chinese/costs.js';
import { DECISIONS } from './chinese/decisions.js';
import { FLEET } from './chinese/fleet.js';
import { FRAME } from './chinese/frame.js';
import { GLOSSARY } from './chinese/glossary.js';
import { IMPORTS } from './chinese/imports.js';
import { MEASURES } from './chinese/measures.js';
import { OVERVIEW } from './chinese/overview.js';
import { POLICIES } from './chinese/policies.js';
import { SAVINGS } from './chinese/savings.js';
import { TEAMS } from './chinese/teams.js';
import type { ENGLISH } from './english.js';
import { PAGES_CHINESE } from './pages-chinese.js';
import { SETTINGS_CHINESE } from './settings-chinese.js';

export const CHINESE: Readonly<Record<keyof typeof ENGLISH, string>> = {
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
  ...PAGES_CHINESE,
  ...SETTINGS_CHINESE,
  ...GLOSSARY,
  ...MEASURES,
};
