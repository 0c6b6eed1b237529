/**
 * Why something is proposed or left alone: for one machine, workload, group, team or budget every policy document that
 * looks at it, what it saw, what was missing and what would make it act. Both doors answer with it. It reads only.
 *
 * The policies are asked with the same view that recommendations are made of, so that it says what they do.
 */
import { missing } from '../../core/errors.js';
import { candidatesOf } from '../../core/policy/decision.js';
import { appliesTo } from '../../core/policy/document.js';
import type { Look, Policy, PolicyView } from '../../core/policy/policy.js';
import type { PolicyMode } from '../../core/policy/recommendation.js';
import { DAY_MS, formatInstant } from '../../core/time.js';
import type { Stores } from '../../store/stores.js';
import type { StoredPolicy } from '../../store/policy/policies.js';

type Needs = Pick<Stores, 'db' | 'organisations' | 'prices' | 'views' | 'policies' | 'fleet' | 'measured' | 'budgets'>;

export interface Explained {
  /** As it was asked for, and what it was found to be. */
  readonly asked: string;
  readonly kind: 'team' | 'budget' | 'target' | 'measured';
  readonly target: string;
  readonly team: string;
  /** ISO 8601: as of when the policies look. */
  readonly asOf: string;
  /** What is known of it, as sentences. */
  readonly known: string[];
  readonly looks: ExplainedLook[];
}

export interface ExplainedLook {
  readonly document: string;
  readonly policy: string;
  readonly mode: PolicyMode;
  readonly target: string;
  readonly saw: string[];
  readonly proposes: string[];
  /** Null: it proposes something. */
  readonly leftAlone: { readonly code: string; readonly message: string; readonly toAct: string } | null;
}

/** What a name stands for: `names` are those that policies may call it by; null: everything of the team. */
type Found = Pick<Explained, 'kind' | 'target' | 'team' | 'known'> & { readonly names: readonly string[] | null };

const MEASURED_MS = DAY_MS;

/**
 * @param asked a team, a budget, a target of the fleet, or what readings call it
 * @param mayAsk throws where the caller does not see a team
 * @throws Failure missing where nothing of that name is known
 */
export async function explain(
  stores: Needs,
  policies: readonly Policy[],
  organisation: string,
  asked: string,
  now: number,
  mayAsk: (team: string) => void = () => {},
): Promise<Explained> {
  const { db, organisations, prices, views, policies: documents } = stores;
  const { names, ...found } = await find(stores, organisation, asked, now);
  const { team } = found;
  mayAsk(team);
  const asOf = await organisations.asOf(db, organisation, now);
  const own = (await documents.list(db, organisation, policies)).filter((one) => appliesTo(one, team));
  const view = await views.view(
    db,
    organisation,
    team,
    await organisations.currencyOf(db, organisation, team),
    asOf,
    await prices.book(db, organisation),
    await organisations.peak(db, organisation),
    { looksAtInstances: true },
  );
  const looks = own.flatMap((document) => looksOf(document, view, policies, found.target, names));
  return { asked, ...found, asOf: formatInstant(asOf), looks };
}

async function find(stores: Needs, organisation: string, asked: string, now: number): Promise<Found> {
  const { db, fleet, measured, organisations, budgets } = stores;
  const seen = await fleet.named(db, organisation, asked);
  const all = await measured.list(db, organisation, now - MEASURED_MS, null);
  if (seen !== null) {
    const { team, connection, seen: target } = seen;
    const own = all.filter((one) => one.connection === connection && one.target === target.target);
    return {
      kind: 'target',
      target: target.target,
      team,
      names: [target.target, `${connection}/${target.target}`, target.name, ...own.map(({ resource }) => resource)],
      known: [
        `${connection} knows it as ${target.target}: ${target.state}, ${target.sku ?? 'unknown SKU'} in ${target.region ?? 'an unknown region'}`,
        own.length === 0
          ? 'none of its GPUs was measured within a day'
          : `${own.reduce((sum, { gpus }) => sum + gpus, 0)} GPUs are measured as its own: ${own.map(({ resource }) => resource).join(', ')}`,
      ],
    };
  }
  const one = all.find(({ resource }) => resource === asked);
  if (one !== undefined)
    return {
      kind: 'measured',
      target: one.target ?? asked,
      team: one.team,
      names: [one.target ?? asked, asked],
      known: [`${one.gpus} GPUs of it are measured by ${one.source}`, ...(one.detail === null ? [] : [one.detail])],
    };
  const budget = (await budgets.list(db, organisation)).find(({ id }) => id === asked);
  if (budget !== undefined)
    return { kind: 'budget', target: asked, team: budget.team, names: null, known: [`a budget of ${budget.team}`] };
  const team = await organisations.team(db, organisation, asked);
  if (team === null && !all.some((each) => each.team === asked))
    throw missing(`nothing is known by the name ${asked}: no team, budget or target, and no GPU measured within a day`);
  const own = all.filter((each) => each.team === asked);
  return {
    kind: 'team',
    target: asked,
    team: asked,
    names: null,
    known: [
      `${own.reduce((sum, { gpus }) => sum + gpus, 0)} of its GPUs are measured`,
      ...own.flatMap(({ resource, detail }) => (detail === null ? [] : [`${resource}: ${detail}`])),
    ],
  };
}

function looksOf(
  document: StoredPolicy,
  view: PolicyView,
  policies: readonly Policy[],
  target: string,
  names: readonly string[] | null,
): ExplainedLook[] {
  const { name, policy: named, mode, paused } = document;
  const policy = policies.find((one) => one.name === named);
  const isOurs = (one: string): boolean => names === null || names.includes(one);
  const look = (one: Partial<ExplainedLook> & Pick<ExplainedLook, 'target' | 'leftAlone'>): ExplainedLook => ({
    document: name,
    policy: named,
    mode,
    saw: [],
    proposes: [],
    ...one,
  });
  if (policy === undefined) return [];
  if (paused) {
    const leftAlone = { code: 'paused', message: 'its document is paused', toAct: `bursar policies resume ${name}` };
    return [look({ target, leftAlone })];
  }
  const proposals = candidatesOf(view, [document], policies).map(({ proposal }) => proposal);
  const told = (policy.explain?.(view, policy.params.parse(document.params), name) ?? []).filter((one) =>
    isOurs(one.target),
  );
  const titles = (of: string): string[] => proposals.filter((one) => one.target === of).map(({ title }) => title);
  const looks = told.map(({ saw, leftAlone, target: of }: Look) =>
    look({ target: of, saw: [...saw], proposes: titles(of), leftAlone }),
  );
  const rest = proposals.filter((one) => isOurs(one.target) && !told.some((each) => each.target === one.target));
  const untold = [...new Set(rest.map((one) => one.target))].map((of) =>
    look({ target: of, proposes: titles(of), leftAlone: null }),
  );
  if (looks.length + untold.length > 0) return [...looks, ...untold];
  return [look({ target, leftAlone: nothingFound(policy) })];
}

const nothingFound = (policy: Policy): NonNullable<ExplainedLook['leftAlone']> => ({
  code: policy.explain === undefined ? 'not-told' : 'nothing-measured',
  message:
    policy.explain === undefined
      ? 'it proposes nothing here; this policy does not tell what it saw'
      : 'it saw nothing of it: no readings of its GPUs are known',
  toAct: policy.explain === undefined ? policy.description : 'readings of its GPUs that are joined to it',
});
