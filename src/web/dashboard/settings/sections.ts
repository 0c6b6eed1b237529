/** The settings with a form from the API's own schema: where each is read and written, and its name in a plan. */
import type { Scope } from '../../../core/scopes.js';

type Values = Readonly<Record<string, unknown>>;

export interface Section {
  /** The schema of the body. */
  readonly schema: string;
  /** A list of items with `key`, or a document. */
  readonly read: string;
  /** Name of an item's own key; null: one document for all. */
  readonly key: 'id' | 'name' | null;
  readonly scope: Scope;
  /** Saving it concerns all teams. */
  readonly ofAllTeams?: true;
  readonly mayRemove?: boolean;
  /** A document of its own for each team too. */
  readonly perTeam?: boolean;
  /** The writable part of a document's answer. */
  readonly of?: (answer: Values) => Values;
  /**
   * The configuration to plan; absent: there is no plan. @param id of the item, or a document's team; empty for
   * everybody's
   */
  readonly plan?: (body: Values, id: string) => Values;
}

const SECTIONS = {
  teams: {
    schema: 'TeamSettings',
    read: '/v1/teams',
    key: 'id',
    scope: 'configure',
    mayRemove: true,
    plan: (body, id) => ({ teams: { [id]: body } }),
  },
  budgets: {
    schema: 'BudgetSettings',
    read: '/v1/budgets',
    key: 'id',
    scope: 'configure',
    mayRemove: true,
    plan: (body, id) => ({ budgets: { [id]: body } }),
  },
  routes: {
    schema: 'AlertRoutes',
    read: '/v1/alert-routes',
    key: null,
    scope: 'admin',
    plan: ({ routes }) => ({ routes }),
  },
  peak: {
    schema: 'PeakSchedule',
    read: '/v1/peak',
    key: null,
    scope: 'configure',
    ofAllTeams: true,
    plan: ({ rules }) => ({ peak: rules }),
  },
  limits: {
    schema: 'LimitsDocument',
    read: '/v1/limits',
    key: null,
    scope: 'admin',
    perTeam: true,
    of: ({ document }) => document as Values,
    plan: (body, team) => ({ limits: { [team === '' ? '*' : team]: body } }),
  },
  admission: { schema: 'AdmissionSettings', read: '/v1/admission', key: null, scope: 'admin' },
  credits: { schema: 'Credits', read: '/v1/credits', key: null, scope: 'configure', ofAllTeams: true },
  reconciliation: {
    schema: 'ReconciliationSettings',
    read: '/v1/reconciliation/settings',
    key: null,
    scope: 'configure',
    ofAllTeams: true,
  },
  retention: { schema: 'SampleRetention', read: '/v1/samples/retention', key: null, scope: 'admin' },
  reports: { schema: 'ReportSchedule', read: '/v1/reports/schedule', key: null, scope: 'configure', ofAllTeams: true },
  roles: { schema: 'RoleRequest', read: '/v1/roles', key: 'name', scope: 'admin', mayRemove: true },
} as const satisfies Readonly<Record<string, Section>>;

export type SectionName = keyof typeof SECTIONS;
export const SECTION_NAMES = Object.keys(SECTIONS) as SectionName[];
export const isSection = (name: string): name is SectionName => Object.hasOwn(SECTIONS, name);
export const sectionOf = (name: SectionName): Section => SECTIONS[name];
