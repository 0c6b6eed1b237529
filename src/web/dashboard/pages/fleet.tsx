/**
 * The fleet: each machine and group with its team, GPUs, use, cost an hour, the idle part of it, its recommendation and
 * its last action. A row opens why something is recommended, or why nothing is.
 */
import type { JSX } from 'preact';
import { countedOnce, listedGroups } from '../../../core/fleet/membership.js';
import type { FleetDetail, FleetDetails } from '../answers.js';
import { get } from '../api.js';
import { amountColumn } from '../columns.js';
import { code, count, decimal, duration, money, percent, unknown } from '../format.js';
import { joined, say } from '../language.js';
import { useLoaded } from '../loading.js';
import { Rich } from '../rich.js';
import { go, link, place } from '../router.js';
import { sumOf } from '../sums.js';
import { Listing, type Column } from '../table.js';
import { Amount, Badge, Card, Empty, Field, Figure, Filter, Page, Show } from '../ui.js';

/** Older evidence says nothing about now. */
const STALE_SECONDS = 15 * 60;

const ratio = (name: string, of: (one: FleetDetail) => number | null): Column<FleetDetail> => ({
  name,
  text: (one) => String(of(one) ?? ''),
  number: of,
  cell: (one) => (of(one) === null ? <span class="unknown">{unknown()}</span> : percent(of(one))),
});

/** From low to high; one amount where both are the same in whole cents. */
function Unused({ one: { unused, because, currency } }: { readonly one: FleetDetail }): JSX.Element {
  if (unused === null) return <span class="unknown">{code('fleet-why', because ?? 'not-measured')}</span>;
  const [low, high] = [money(unused.low, currency), money(unused.high, currency)];
  return <>{low === high ? low : say('fleet.range', { low, high })}</>;
}

/** What a row needs to know of the whole fleet. */
interface Among {
  /** Whether another target has the same name. */
  isTwin(one: FleetDetail): boolean;
  /** The group of a machine; null: none is listed. */
  groupOf(one: FleetDetail): FleetDetail | null;
}

function among(items: readonly FleetDetail[]): Among {
  const names = items.map(({ target }) => target.name);
  const listed = items.map((one) => ({ ...one.target, one }));
  const groupIn = listedGroups(listed);
  const groups = new Map(listed.map((each) => [each.one, groupIn(each)?.one ?? null]));
  return {
    isTwin: ({ target: { name } }) => names.indexOf(name) !== names.lastIndexOf(name),
    groupOf: (one) => groups.get(one) ?? null,
  };
}

/** Name, kind, SKU and region, and its id where the name is not its own; a badge where the newest reading lacked it. */
const Target = ({ target, isTwin }: Pick<FleetDetail, 'target'> & { readonly isTwin: boolean }): JSX.Element => (
  <>
    <a href={link('explain', target.target)}>{target.name}</a>
    <div class="note">
      {isTwin ? (
        <>
          <code>{target.target}</code> {say('fleet.at', { connection: target.connection })}
          <br />
        </>
      ) : null}
      {joined([code('target', target.kind), target.sku ?? target.gpuModel, target.region])}
      {target.missed > 0 ? (
        <>
          {' '}
          <Badge tone="warn">{say('fleet.missed')}</Badge>
        </>
      ) : null}
    </div>
  </>
);

const Age = ({ evidence }: Pick<FleetDetail, 'evidence'>): JSX.Element =>
  evidence === null ? (
    <span class="unknown">{say('fleet.unread')}</span>
  ) : (
    <span class={evidence.ageSeconds > STALE_SECONDS ? 'delta more' : ''}>
      {say('fleet.ago', { age: duration(evidence.ageSeconds) })}
    </span>
  );

/** Its recommendation with a saving, that of its group, or a link to why there is none. */
function Recommended({
  one: { recommendation, target },
  group,
}: {
  readonly one: FleetDetail;
  readonly group: FleetDetail | null;
}): JSX.Element {
  const ofGroup = group?.recommendation ?? null;
  if (recommendation === null && ofGroup !== null)
    return (
      <a href={link('recommendations', ofGroup.id)}>
        {say('fleet.of-group', { action: code('do', ofGroup.action), group: group?.target.name ?? '' })}
      </a>
    );
  if (recommendation === null)
    return (
      <a class="quiet" href={link('explain', target.target)}>
        {say('fleet.why-nothing')}
        <span class="hidden"> {target.name}</span>
      </a>
    );
  const { id, action, estimatedMonthlySavingsLow: low, estimatedMonthlySavingsHigh: high, currency } = recommendation;
  return (
    <>
      <a href={link('recommendations', id)}>{code('do', action)}</a>
      {low === null || high === null ? null : (
        <div class="note">
          {say('fleet.saves', { low: money(low, currency, true), high: money(high, currency, true) })}
        </div>
      )}
    </>
  );
}

const LastAction = ({ lastAction }: Pick<FleetDetail, 'lastAction'>): JSX.Element =>
  lastAction === null ? (
    <span class="quiet">–</span>
  ) : (
    <>
      <a href={link('actions', lastAction.id)}>{code('act', lastAction.effect)}</a>
      <div class="note">{code('state', lastAction.state)}</div>
    </>
  );

const columns = ({ isTwin, groupOf }: Among): readonly Column<FleetDetail>[] => [
  {
    name: say('fleet.target'),
    text: ({ target }) => target.target,
    cell: (one) => <Target target={one.target} isTwin={isTwin(one)} />,
  },
  {
    name: say('column.team'),
    isMinor: true,
    text: ({ target }) => target.team,
    cell: ({ target }) => <a href={link('teams', target.team)}>{target.team}</a>,
  },
  { name: say('column.state'), text: ({ target }) => code('value', target.state), isMinor: true },
  {
    name: say('column.gpus'),
    isMinor: true,
    text: ({ gpus }) => String(gpus ?? ''),
    number: ({ gpus }) => gpus,
    cell: ({ gpus }) => (gpus === null ? <span class="unknown">{unknown()}</span> : decimal(String(gpus))),
  },
  ratio(say('fleet.utilisation'), ({ utilisationRatio }) => utilisationRatio),
  { ...ratio(say('fleet.memory'), ({ memoryUsedRatio }) => memoryUsedRatio), isMinor: true },
  {
    name: say('fleet.evidence'),
    isMinor: true,
    text: ({ evidence }) => evidence?.newestAt ?? '',
    number: ({ evidence }) => evidence?.ageSeconds ?? null,
    cell: (one) => <Age {...one} />,
  },
  amountColumn(say('fleet.cost'), ({ hourlyCost }) => hourlyCost),
  {
    name: say('fleet.unused'),
    text: ({ unused }) => (unused === null ? '' : `${unused.low} - ${unused.high}`),
    number: ({ unused }) => (unused === null ? null : Number(unused.low)),
    cell: (one) => <Unused one={one} />,
  },
  {
    name: say('field.recommendation'),
    text: ({ recommendation }) => recommendation?.title ?? '',
    cell: (one) => <Recommended one={one} group={groupOf(one)} />,
  },
  {
    name: say('fleet.last-action'),
    isMinor: true,
    text: ({ lastAction }) => (lastAction === null ? '' : code('act', lastAction.effect)),
    cell: (one) => <LastAction {...one} />,
  },
];

interface Wanted {
  readonly team: string;
  readonly kind: string;
  readonly words: string;
}

function wantedOf(): Wanted {
  const { query } = place.value;
  return { team: query.get('team') ?? '', kind: query.get('kind') ?? '', words: query.get('words') ?? '' };
}

const passes = ({ target }: FleetDetail, { team, kind, words }: Wanted): boolean =>
  (team === '' || target.team === team) &&
  (kind === '' || target.kind === kind) &&
  [target.target, target.name, target.sku, target.gpuModel, target.region, target.team, ...target.knownAs]
    .join(' ')
    .toLowerCase()
    .includes(words.toLowerCase());

/** By the low end, which is certain, as savings are; of equals by the high end. Unknown last. */
const byCertainWaste = ({ unused: a }: FleetDetail, { unused: b }: FleetDetail): number =>
  a === null || b === null
    ? Number(a === null) - Number(b === null)
    : Number(b.low) - Number(a.low) || Number(b.high) - Number(a.high);

export function Fleet(): JSX.Element {
  const loaded = useLoaded('fleet', (halt) => get<FleetDetails>('/v1/fleet/details', {}, halt));
  return (
    <Page
      title={say('page.fleet')}
      lead={loaded.data === null ? undefined : say('fleet.lead', { hours: loaded.data.windowHours })}
    >
      <Card title={say('fleet.targets')}>
        <Show loaded={loaded}>{(data) => <Listed data={data} />}</Show>
      </Card>
    </Page>
  );
}

function Listed({ data: { items, more } }: { readonly data: FleetDetails }): JSX.Element {
  const wanted = wantedOf();
  if (items.length === 0)
    return (
      <Empty>
        <Rich of="fleet.empty" given={{ a: (inner) => <a href="/docs">{inner}</a> }} />
      </Empty>
    );
  const found = items.filter((one) => passes(one, wanted)).sort(byCertainWaste);
  return (
    <>
      <Filters items={items} wanted={wanted} />
      <Totals items={found} />
      {more ? <p class="warning">{say('fleet.more')}</p> : null}
      <Listing
        items={found}
        note={null}
        empty={<Rich of="fleet.none" given={{ a: (inner) => <a href={link('fleet')}>{inner}</a> }} />}
        caption={say('fleet.targets')}
        file="fleet"
        columns={columns(among(items))}
        keyOf={({ target }) => `${target.connection} ${target.target}`}
      />
    </>
  );
}

/** By words, team and kind, kept in the address. */
function Filters({ items, wanted }: { readonly items: readonly FleetDetail[]; readonly wanted: Wanted }): JSX.Element {
  const ask = (over: Partial<Wanted>): void => go(link('fleet', null, { ...wanted, ...over }));
  const distinct = (of: (one: FleetDetail) => string): string[] => [...new Set(items.map(of))].sort();
  return (
    <div class="fields">
      <Field label={say('fleet.find')}>
        {(ids) => (
          <input
            {...ids}
            type="search"
            value={wanted.words}
            onChange={({ currentTarget }) => ask({ words: currentTarget.value })}
          />
        )}
      </Field>
      <Filter
        label={say('column.team')}
        value={wanted.team}
        options={distinct(({ target }) => target.team).map((one) => [one, one])}
        onPick={(team) => ask({ team })}
      />
      <Filter
        label={say('field.kind')}
        value={wanted.kind}
        options={distinct(({ target }) => target.kind).map((one) => [one, code('target', one)])}
        onPick={(kind) => ask({ kind })}
      />
    </div>
  );
}

/** The known costs, and the number of targets without one. */
function Totals({ items }: { readonly items: readonly FleetDetail[] }): JSX.Element | null {
  const [first] = items;
  if (first === undefined) return null;
  const { currency } = first;
  const once = new Set(countedOnce(items.map(({ target }) => target)));
  const billed = items.filter(({ target, because }) => once.has(target) && because !== 'not-billed');
  const [unpriced, unmeasured] = [
    billed.filter(({ hourlyCost }) => hourlyCost === null).length,
    billed.filter(({ unused }) => unused === null).length,
  ];
  const noted = (n: number): JSX.Element | string | undefined =>
    n === 0 ? undefined : say('fleet.not-of', { n, all: billed.length });
  return (
    <dl class="figures">
      <Figure
        name={say('fleet.count')}
        value={count(items.length)}
        note={once.size === items.length ? undefined : say('fleet.once', { n: items.length - once.size })}
      />
      <Figure
        name={say('fleet.cost')}
        value={
          <Amount
            amount={unpriced === billed.length ? null : sumOf(billed.map(({ hourlyCost }) => hourlyCost))}
            currency={currency}
          />
        }
        note={noted(unpriced)}
      />
      <Figure
        name={say('fleet.unused')}
        value={
          unmeasured === billed.length
            ? unknown()
            : say('fleet.range', {
                low: money(sumOf(billed.map(({ unused }) => unused?.low ?? null)), currency),
                high: money(sumOf(billed.map(({ unused }) => unused?.high ?? null)), currency),
              })
        }
        note={noted(unmeasured)}
      />
    </dl>
  );
}
