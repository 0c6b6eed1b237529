/**
 * The savings ledger: what each action saved against what would have happened otherwise; and one entry, hour by hour.
 */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { LEDGER_STATES, type LedgerState } from '../../../core/saving/saving.js';
import type { Page as List, Saving, SavingDetail, SavingTotals } from '../answers.js';
import { get, Trouble } from '../api.js';
import { amountColumn, instantColumn, teamColumn } from '../columns.js';
import { EstimatedFigure, Ends } from '../expected.js';
import { code, count, instant, money, shownCode, within } from '../format.js';
import { joined, reader, say } from '../language.js';
import { useLoaded } from '../loading.js';
import { gpusOfParts, heldText } from '../measures.js';
import { Picture } from '../picture.js';
import type { Series } from '../picture-plot.js';
import { Rich } from '../rich.js';
import { go, link, place } from '../router.js';
import { sumOf } from '../sums.js';
import { Listing, type Column } from '../table.js';
import { Amount, Amounts, Badge, Card, Empty, Facts, Figure, Filter, Page, Show, type Tone } from '../ui.js';

const TONES: Readonly<Partial<Record<LedgerState, Tone>>> = { verified: 'good', unverifiable: 'bad' };
type Answer = List<Saving> & { readonly totals: SavingTotals };

const isClaimed = ({ state }: Saving): boolean => state === 'measured' || state === 'verified';

/** What the page says within another column. */
const hidden = (name: string, of: (one: Saving) => string | null): Column<Saving> => ({
  name,
  text: (one) => of(one) ?? '',
  isHidden: true,
});

const columns = (): readonly Column<Saving>[] => [
  {
    name: say('column.action'),
    text: ({ effectKind, target }) => `${code('act', effectKind)} ${target}`,
    cell: ({ action, effectKind, target }) => (
      <a href={link('savings', action)}>
        {code('act', effectKind)} {target}
      </a>
    ),
  },
  teamColumn(),
  {
    name: say('column.state'),
    text: ({ state, reason, rolledBack }) =>
      joined([
        code('state', state),
        reason === null ? null : code('reason', reason),
        rolledBack ? code('state', 'rolled-back') : null,
      ]),
    cell: ({ state, reason, rolledBack }) => (
      <>
        <Badge tone={TONES[state] ?? 'plain'}>{code('state', state)}</Badge>
        {reason === null ? null : <div class="note">{code('reason', reason)}</div>}
        {rolledBack ? <div class="note">{code('state', 'rolled-back')}</div> : null}
      </>
    ),
  },
  amountColumn(say('column.saved'), (one) => (isClaimed(one) ? one.saved : null)),
  amountColumn(say('column.verified'), ({ verified }) => verified),
  {
    name: say('saved.estimated'),
    text: ({ estimatedMonthlySavings }) => estimatedMonthlySavings ?? '',
    number: ({ estimatedMonthlySavings }) =>
      estimatedMonthlySavings === null ? null : Number(estimatedMonthlySavings),
    cell: (one) => (
      <>
        <Amount amount={one.estimatedMonthlySavings} currency={one.currency} whole />
        <Ends
          mean={one.estimatedMonthlySavings}
          low={one.estimatedMonthlySavingsLow}
          high={one.estimatedMonthlySavingsHigh}
          currency={one.currency}
        />
      </>
    ),
  },
  hidden(say('saved.low'), ({ estimatedMonthlySavingsLow }) => estimatedMonthlySavingsLow),
  hidden(say('saved.high'), ({ estimatedMonthlySavingsHigh }) => estimatedMonthlySavingsHigh),
  hidden(say('currency'), ({ currency }) => currency),
  { ...instantColumn(say('column.since'), ({ from }) => from), isMinor: true },
];

export function Savings(): JSX.Element {
  const { query } = place.value;
  const [team, state] = [query.get('team') ?? '', query.get('state') ?? ''];
  const loaded = useLoaded(`ledger ${team} ${state}`, (halt) =>
    get<Answer>(
      '/v1/savings',
      { limit: 500, team: team === '' ? null : team, state: state === '' ? null : state },
      halt,
    ),
  );
  return (
    <Page
      title={say('page.savings')}
      lead={team === '' ? say('savings.lead') : say('of-team', { team })}
      actions={
        <Filter
          label={say('column.state')}
          value={state}
          options={LEDGER_STATES.map((one) => [one, code('state', one)])}
          onPick={(next) => go(link('savings', null, { team, state: next }))}
        />
      }
    >
      <Show loaded={loaded}>
        {({ items, totals, nextCursor }) => (
          <>
            <Card title={say('in-all')}>
              <Totals totals={totals} />
            </Card>
            <Listing
              items={items}
              note={nextCursor === null ? null : say('savings.many')}
              empty={
                <Rich of="savings.empty" given={{ a: (inner) => <a href={link('recommendations')}>{inner}</a> }} />
              }
              caption={say('savings.caption')}
              file="savings"
              columns={columns()}
              keyOf={({ action }) => action}
            />
          </>
        )}
      </Show>
    </Page>
  );
}

function Totals({
  totals: { verified, measured, estimated, unverifiable },
}: {
  readonly totals: SavingTotals;
}): JSX.Element {
  return (
    <dl class="figures">
      <Figure
        name={say('state.verified')}
        value={<Amounts amounts={verified.saved} />}
        note={say('saved.verified-note')}
      />
      <Figure
        name={say('state.measured')}
        value={<Amounts amounts={measured.saved} />}
        note={say('saved.measured-note')}
      />
      <EstimatedFigure of={estimated} />
      <Figure
        name={say('state.unverifiable')}
        value={count(unverifiable.count)}
        note={
          joined(unverifiable.reasons.map(({ reason, count: n }) => `${within(code('reason', reason))} ${count(n)}`)) ||
          say('saved.unverifiable-note')
        }
      />
    </dl>
  );
}

export function SavingPage({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoaded(`saving ${id}`, (halt) =>
    get<SavingDetail>(`/v1/savings/${encodeURIComponent(id)}`, { limit: 1000 }, halt),
  );
  return (
    <Page
      title={
        loaded.data === null
          ? say('saving.of', { id })
          : say('saving.by', { action: within(code('act', loaded.data.effectKind)), target: loaded.data.target })
      }
      actions={
        <span class="links">
          <a href={link('actions', id)}>{say('alert.to-action')}</a>{' '}
          <a href={link('savings')}>{say('saving.ledger')}</a>
        </span>
      }
    >
      {loaded.trouble instanceof Trouble && loaded.trouble.status === 404 ? (
        <Empty>{say('saving.not-yet')}</Empty>
      ) : (
        <Show loaded={loaded}>{(saving) => <Entry saving={saving} />}</Show>
      )}
    </Page>
  );
}

type Hour = SavingDetail['ledger']['items'][number];

const hourColumns = (): readonly Column<Hour>[] => [
  instantColumn(say('column.hour'), ({ hour }) => hour),
  {
    name: say('column.state'),
    text: ({ state }) => state,
    cell: ({ state, reason }) => (
      <>
        {code('state', state)}
        {reason === null ? null : <span class="note"> {code('reason', reason)}</span>}
      </>
    ),
  },
  amountColumn(say('column.otherwise'), ({ counterfactual }) => counterfactual),
  amountColumn(say('column.cost'), ({ actual }) => actual),
  amountColumn(say('column.saved'), ({ saved }) => saved),
];

function seriesOf(hours: readonly Hour[], days: readonly string[]): Series[] {
  const byDay = Map.groupBy(
    hours.filter(({ state }) => state === 'measured' || state === 'verified'),
    ({ hour }) => hour.slice(0, 10),
  );
  const sums = (field: 'counterfactual' | 'actual'): (string | null)[] =>
    days.map((day) => {
      const of = byDay.get(day);
      return of === undefined ? null : sumOf(of.map((hour) => hour[field]));
    });
  return [
    { name: say('column.cost'), values: sums('actual') },
    { name: say('column.otherwise'), values: sums('counterfactual'), isLimit: true },
  ];
}

function Entry({ saving }: { readonly saving: SavingDetail }): JSX.Element {
  const { ledger } = saving;
  return (
    <>
      <Card title={say('in-all')}>
        <InAll saving={saving} />
      </Card>
      <Card title={say('saving.world')} terms={['counterfactual', 'verified']}>
        <Otherwise saving={saving} />
      </Card>
      <Card title={say('saving.days')}>
        <Days saving={saving} />
      </Card>
      {ledger.items.length === 0 ? null : (
        <Card title={say('saving.by-hour')}>
          <Listing
            items={ledger.items}
            note={ledger.nextCursor === null ? null : say('saving.many')}
            empty={null}
            caption={say('saving.caption')}
            file={`hours-${saving.action}`}
            columns={hourColumns()}
            keyOf={({ hour }) => hour}
          />
        </Card>
      )}
    </>
  );
}

function InAll({ saving }: { readonly saving: SavingDetail }): JSX.Element {
  const { currency, hours } = saving;
  return (
    <>
      <dl class="figures">
        <Figure
          name={say('column.saved')}
          value={<Amount amount={isClaimed(saving) ? saving.saved : null} currency={currency} />}
          note={code('state', saving.state)}
        />
        <Figure
          name={say('column.otherwise')}
          value={<Amount amount={saving.counterfactualCost} currency={currency} />}
        />
        <Figure name={say('column.cost')} value={<Amount amount={saving.actualCost} currency={currency} />} />
        <Figure
          name={say('saving.hours')}
          value={count(hours.measured + hours.verified)}
          note={
            hours.unverifiable > 0
              ? say('saving.unverifiable', { n: hours.unverifiable })
              : isClaimed(saving)
                ? say('saving.verifiable')
                : undefined
          }
        />
      </dl>
      <p>{say('saving.time', { from: instant(saving.from), until: instant(saving.until) })}</p>
    </>
  );
}

/** What would have happened without the action, and which other actions share the saving. */
function Otherwise({ saving: { counterfactual, sharedWith } }: { readonly saving: SavingDetail }): JSX.Element {
  const shown = (name: string, value: unknown): string =>
    name === 'kind'
      ? code('world', String(value))
      : name === 'reason'
        ? code('reason', String(value))
        : name === 'holdings' || name === 'holding'
          ? [value].flat().map(heldText).join('; ')
          : name === 'afterParts'
            ? gpusOfParts(Number(value))
            : shownCode(value);
  return (
    <>
      <Facts
        facts={Object.entries(counterfactual.world).map(([name, value]) => [code('field', name), shown(name, value)])}
      />
      {sharedWith.length === 0 ? null : (
        <p>
          {say('saving.shared')}{' '}
          {sharedWith.map((other) => (
            <a key={other} href={link('savings', other)}>
              {other}{' '}
            </a>
          ))}
        </p>
      )}
    </>
  );
}

function Days({ saving: { action, currency, saved, ledger } }: { readonly saving: SavingDetail }): JSX.Element {
  const days = useMemo(() => [...new Set(ledger.items.map(({ hour }) => hour.slice(0, 10)))].sort(), [ledger]);
  const series = useMemo(() => seriesOf(ledger.items, days), [ledger, reader.value]);
  if (days.length === 0) return <Empty>{say('saving.no-hour')}</Empty>;
  return (
    <Picture
      title={say('saving.picture')}
      summary={say('saving.summary', { amount: money(saved, currency), n: days.length })}
      days={days}
      series={series}
      currency={currency}
      kind="lines"
      file={`saving-${action}`}
    />
  );
}
