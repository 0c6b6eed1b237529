/** The pages of the dashboard by address (`#/page`, `#/page/id`): the dashboard draws them, `bursar open` opens them. */

/** By page: whether an id may follow. The first page has no name. */
export const PAGES = {
  '': false,
  costs: false,
  fleet: false,
  teams: true,
  budgets: true,
  recommendations: true,
  actions: true,
  alerts: true,
  savings: true,
  policies: true,
  explain: true,
  imports: true,
  anomalies: false,
  quotes: false,
  reservations: false,
  reports: false,
  reconciliation: false,
  audit: false,
  settings: true,
  help: false,
  sessions: false,
  'sign-in': true,
} as const satisfies Readonly<Record<string, boolean>>;
export type DashboardPage = keyof typeof PAGES;

export const isPage = (name: string): name is DashboardPage => Object.hasOwn(PAGES, name);

/** The pages of settings, by purpose and in the order of their index: `#/settings/budgets`. */
export const SETTINGS = {
  money: ['budgets', 'rules', 'peak', 'credits', 'reconciliation'],
  people: ['teams', 'keys', 'roles'],
  notices: ['routes', 'mutes', 'reports'],
  safety: ['stop', 'limits', 'admission', 'retention'],
} as const;
