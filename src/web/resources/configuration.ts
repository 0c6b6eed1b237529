/**
 * /v1/configuration: an organisation's settings as one document (teams, rules, peak, limits, budgets, policies, alert
 * routes); a plan of what another document would change; and applying it, all of it or nothing.
 *
 * The schemas are those of the single routes. A plan belongs to one state: it is refused once that state has changed.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import {
  plannedChanges,
  readConfiguration,
  revisionOf,
  setConfiguration,
} from '../../application/configuration/set-configuration.js';
import { readLimits } from '../../core/action/limits.js';
import { checkRoutes, type AlertRoutes } from '../../core/alert/routes.js';
import { checkBudget, type Budget } from '../../core/budget/budget.js';
import { SECTIONS, type Change, type Sections } from '../../core/changes.js';
import { problemsOfRules } from '../../core/cost/allocation.js';
import { Failure, invalid, type Problem } from '../../core/errors.js';
import { checkPolicyDocument } from '../../core/policy/document.js';
import type { Policy } from '../../core/policy/policy.js';
import { compilePeak } from '../../core/price/peak.js';
import { actorOf, Calling, type Caller } from '../caller.js';
import { Endpoint, UncheckedBody } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';
import { routesSchema } from './alert-settings.js';
import { budgetId, budgetSettings } from './budgets.js';
import { scheduleSchema } from './peak.js';
import { parentProblems, readRequest, strangerProblems } from './configuration-reading.js';
import { rulesSchema } from './rules.js';
import { currency, teamId, zone } from './teams.js';

const loose = z.record(z.string(), z.unknown());
const teamSettings = z.strictObject({
  name: z.string().min(1).max(200).optional().describe('Default: its id'),
  parent: teamId.nullable().default(null),
  zone: zone.default('UTC'),
  currency: currency.default('USD'),
});
const configurationSchema = z
  .strictObject({
    teams: z.record(teamId, teamSettings).optional().describe('By id'),
    rules: rulesSchema.optional(),
    peak: scheduleSchema.shape.rules.optional(),
    limits: z.record(z.string().min(1).max(200), loose).optional().describe("By team; * for the organisation's own"),
    budgets: z.record(budgetId, budgetSettings).optional().describe('By id'),
    policies: z.record(z.string().min(1).max(100), loose).optional().describe('By name'),
    routes: routesSchema.shape.routes.optional(),
  })
  .meta({ id: 'Configuration', description: 'An absent section is left unchanged' });
type Configuration = z.infer<typeof configurationSchema>;
const storedSchema = z
  .strictObject({
    revision: z.string().describe('Revision of this state: another state has another one'),
    configuration: z.record(z.string(), z.unknown()).describe('As Configuration, with every section present'),
  })
  .meta({ id: 'StoredConfiguration' });
const planRequest = z
  .strictObject({
    configuration: configurationSchema,
    prune: z.boolean().default(false).describe('Whether to remove what a section does not name'),
  })
  .meta({ id: 'ConfigurationPlanRequest' });
const setRequest = planRequest
  .extend({
    replaces: z
      .string()
      .describe('The revision that the plan was made from: the request is refused if another one is current'),
    override: z
      .string()
      .min(1)
      .max(1000)
      .nullable()
      .default(null)
      .describe('Why policies may enforce without a backtest'),
  })
  .meta({ id: 'ConfigurationChange' });
const planSchema = z
  .strictObject({
    revision: z.string().describe('Revision of the state that the changes apply to; after a change, of the new state'),
    changes: z.array(
      z.strictObject({
        section: z.enum(SECTIONS),
        id: z.string().nullable().describe('Null: the section as a whole'),
        kind: z.enum(['add', 'change', 'remove']).describe('A policy that is removed is paused'),
        before: z.unknown().describe('Null if there was none'),
        after: z.unknown(),
      }),
    ),
  })
  .meta({ id: 'ConfigurationPlan' });

interface Plan {
  readonly revision: string;
  readonly changes: readonly Change[];
}

@Controller()
export class ConfigurationController {
  private readonly policies: readonly Policy[];

  constructor(@InjectParts() private readonly parts: WebParts) {
    this.policies = parts.policies ?? [];
  }

  @Endpoint('GET /v1/configuration', {
    summary: 'Get the configuration as one document',
    access: 'read',
    allTeams: true,
    answer: storedSchema,
  })
  async get(@Calling() { principal }: Caller): Promise<{ revision: string; configuration: Sections }> {
    const { stores } = this.parts;
    const configuration = await readConfiguration(stores, stores.db, principal.organisation, this.policies);
    return { revision: revisionOf(configuration), configuration };
  }

  @Endpoint('POST /v1/configuration/plan', {
    summary: 'What a configuration would change',
    description: 'Names every problem. Writes nothing.',
    access: 'read',
    allTeams: true,
    answer: planSchema,
    mostBodyBytes: 16 << 20,
  })
  async plan(@Calling() { principal }: Caller, @UncheckedBody(planRequest) body: unknown): Promise<Plan> {
    const { stores } = this.parts;
    const now = await readConfiguration(stores, stores.db, principal.organisation, this.policies);
    const others = await stores.policies.teams(stores.db, principal.organisation);
    const { configuration, prune } = this.read(planRequest, body, now, others);
    return { revision: revisionOf(now), changes: plannedChanges(now, this.checked(configuration, now, others), prune) };
  }

  @Endpoint('PUT /v1/configuration', {
    summary: 'Apply a configuration',
    description: 'All of it or nothing. Every change has its own entry in the audit.',
    access: 'admin',
    allTeams: true,
    writes: true,
    answer: planSchema,
    readBack: { renamed: { revision: 'replaces' } },
    mostBodyBytes: 16 << 20,
  })
  async save(@Calling() caller: Caller, @UncheckedBody(setRequest) body: unknown): Promise<Plan> {
    const { stores, clock } = this.parts;
    const { organisation } = caller.principal;
    return write(stores, caller, 'configuration.apply', async (tx) => {
      const before = await readConfiguration(stores, tx, organisation, this.policies);
      const others = await stores.policies.teams(tx, organisation);
      const { configuration, ...request } = this.read(setRequest, body, before, others);
      const wanted = this.checked(configuration, before, others);
      const changes = await setConfiguration(
        stores,
        tx,
        organisation,
        this.policies,
        { wanted, ...request },
        actorOf(caller),
        clock.now(),
      );
      const after = await readConfiguration(stores, tx, organisation, this.policies);
      const detail = { replaces: request.replaces, prune: request.prune, changes: changes.length };
      const applied = { revision: revisionOf(after), changes };
      return { body: applied, target: 'configuration', detail, changedNothing: changes.length === 0 };
    });
  }

  private read<T>(schema: z.ZodType<T>, body: unknown, now: Sections, others: readonly string[]): T {
    return readRequest(
      schema,
      configurationSchema,
      body,
      (rest, whole) => this.meaning(rest as Configuration, now, others, whole).problems,
    );
  }

  /** With defaults filled in. @throws Failure invalid naming every problem of all sections */
  private checked(configuration: Configuration, now: Sections, others: readonly string[]): Sections {
    const { wanted, problems } = this.meaning(configuration, now, others, configuration);
    if (problems.length > 0)
      throw invalid(
        `the configuration has ${problems.length} problem(s)`,
        problems.map(({ path, message }) => ({ path: `configuration/${path ?? ''}`.replace(/\/$/, ''), message })),
      );
    return wanted;
  }

  private meaning(
    configuration: Configuration,
    now: Sections,
    others: readonly string[],
    whole: Readonly<Record<string, unknown>>,
  ): { readonly wanted: Sections; readonly problems: readonly Problem[] } {
    const problems: Problem[] = [];
    const wanted = { ...configuration } as Record<string, unknown>;
    const { teams, budgets, limits, policies, rules, peak, routes } = configuration;
    if (teams !== undefined) wanted['teams'] = mapped(teams, (team, id) => ({ ...team, name: team.name ?? id }));
    problems.push(...parentProblems(teams ?? {}, now, whole));
    problems.push(...strangerProblems(configuration, now, whole, others));
    if (rules !== undefined) problems.push(...problemsOfRules(rules));
    problems.push(...caught('', () => peak !== undefined && compilePeak(peak), /^rules/, 'peak'));
    problems.push(...caught('', () => routes !== undefined && checkRoutes({ routes } as AlertRoutes)));
    if (limits !== undefined)
      for (const [team, document] of Object.entries(limits))
        problems.push(...caught(`limits/${team}/`, () => readLimits(document)));
    for (const [id, settings] of Object.entries(budgets ?? {}))
      problems.push(...caught(`budgets/${id}/`, () => checkBudget({ id, ...settings } as Budget)));
    if (policies !== undefined)
      wanted['policies'] = mapped(policies, ({ paused = false, ...settings }, name) => {
        const read = checkPolicyDocument({ ...settings, name }, this.policies);
        if (typeof paused !== 'boolean')
          problems.push({ path: `policies/${name}/paused`, message: 'is neither true nor false' });
        problems.push(
          ...read.problems.map(({ path, message }) => ({ path: `policies/${name}/${path ?? ''}`, message })),
        );
        const { name: _, ...document } = read.document ?? { name };
        return { ...document, paused };
      });
    return { wanted: wanted as Sections, problems };
  }
}

const mapped = <T, U>(things: Readonly<Record<string, T>>, each: (thing: T, id: string) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(things).map(([id, thing]) => [id, each(thing, id)]));

/** The problems that a check throws, each with its place in the document. */
function caught(prefix: string, check: () => unknown, from = /^/, to = ''): Problem[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'invalid') throw error;
    if (error.problems.length === 0) return [{ path: prefix, message: error.message }];
    return error.problems.map(({ path, message }) => ({ path: prefix + (path ?? '').replace(from, to), message }));
  }
}
